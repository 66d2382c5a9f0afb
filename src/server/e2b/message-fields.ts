/** Fields of a message or a body, each with the refusal of what it cannot be. Missing is what the protocol's default is. */
import { E2bRefusal } from './e2b-refusal.ts';

type Message = Readonly<Record<string, unknown>>;

export function text(message: Message, name: string): string {
  const value = message[name];
  return typeof value === 'string' ? value : wrong(name, 'a string');
}

export function boolean(message: Message, name: string): boolean {
  const value = message[name];
  return typeof value === 'boolean' ? value : wrong(name, 'true or false');
}

export function integer(message: Message, name: string): number {
  const value = typeof message[name] === 'string' ? Number(message[name]) : message[name];
  return Number.isInteger(value) && (value as number) >= 0 ? (value as number) : wrong(name, 'a whole number');
}

export function object(message: Message, name: string): Message {
  const value = message[name];
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Message;
  return wrong(name, 'an object');
}

export function strings(message: Message, name: string): readonly string[] {
  const value = message[name];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  return wrong(name, 'a list of strings');
}

export function stringRecord(message: Message, name: string): Readonly<Record<string, string>> {
  const value = object(message, name);
  for (const [key, item] of Object.entries(value)) {
    if (typeof item !== 'string') wrong(`${name}.${key}`, 'a string');
  }
  return value as Record<string, string>;
}

/** undefined and null are the absence of a field. */
export function optional<T>(
  message: Message,
  name: string,
  read: (message: Message, name: string) => T,
): T | undefined {
  return message[name] === undefined || message[name] === null ? undefined : read(message, name);
}

function wrong(name: string, expected: string): never {
  throw new E2bRefusal(400, `"${name}" must be ${expected}.`);
}

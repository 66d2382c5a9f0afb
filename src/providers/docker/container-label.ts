/** The one label that the provider adds: it marks a container as ours and says what cannot be read off it otherwise. */
import type { Labels } from '../../core/spec.ts';
import type { ContainerBody } from './docker-types.ts';

export const CONTAINER_LABEL = 'sublet.docker';

export interface ContainerFacts {
  /** The names of the labels that were asked for: an image adds its own. */
  readonly labels: readonly string[];
  readonly workdir: string;
  readonly ephemeral: boolean;
  readonly hasShell: boolean;
  /** What the engine was asked to make, where it may be asked again. */
  readonly made?: MadeOf | undefined;
}

export type MadeOf = Omit<ContainerBody, 'Labels'>;

export function writeLabels(labels: Labels, facts: Omit<ContainerFacts, 'labels'>): Labels {
  return { ...labels, [CONTAINER_LABEL]: JSON.stringify({ labels: Object.keys(labels), ...facts }) };
}

/** undefined for a container that is not ours. */
export function readFacts(labels: Labels | null | undefined): ContainerFacts | undefined {
  const text = labels?.[CONTAINER_LABEL];
  if (text === undefined) return undefined;
  try {
    const facts = JSON.parse(text) as Partial<ContainerFacts>;
    return {
      labels: facts.labels ?? [],
      workdir: facts.workdir ?? '/workspace',
      ephemeral: facts.ephemeral === true,
      hasShell: facts.hasShell !== false,
      made: facts.made,
    };
  } catch {
    return undefined;
  }
}

/** The labels as they were asked for. */
export function askedLabels(labels: Labels, facts: ContainerFacts): Labels {
  return Object.fromEntries(facts.labels.flatMap((name) => (name in labels ? [[name, labels[name] ?? '']] : [])));
}

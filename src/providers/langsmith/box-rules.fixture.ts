/** What LangSmith takes for a sandbox, and what it refuses. */
import type { NetworkLevel } from '../../core/network.ts';
import { Refusal } from '../../testing/loopback/loopback-server.ts';

export interface UpdateBody {
  readonly idle_ttl_seconds?: number;
  readonly delete_after_stop_seconds?: number;
  readonly proxy_config?: {
    readonly access_control?: { readonly allow_list?: readonly string[]; readonly deny_list?: readonly string[] };
  };
}

export interface CreateBody extends UpdateBody {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly env_vars?: Readonly<Record<string, string>>;
  readonly snapshot_id?: string;
  readonly snapshot_name?: string;
  readonly preserve_memory_on_stop?: boolean;
  readonly cpu_millicores?: number;
  readonly mem_bytes?: number;
  readonly fs_capacity_bytes?: number;
}

const GIB = 1024 ** 3;
const DAY_SECONDS = 86_400;

export function checkBox(body: CreateBody): void {
  const { name, labels = {}, proxy_config: proxy, snapshot_id: id, snapshot_name: snapshot } = body;
  if (name !== undefined && !/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) refuse(`Invalid name '${name}'`);
  if (id !== undefined && snapshot !== undefined) refuse('At most one of snapshot_id and snapshot_name');
  const entries = Object.entries(labels);
  const isTooLong = entries.some(([key, value]) => Buffer.byteLength(key) > 256 || Buffer.byteLength(value) > 4096);
  if (entries.length > 128 || isTooLong) refuse('Labels exceed their limits');
  for (const field of ['idle_ttl_seconds', 'delete_after_stop_seconds'] as const) {
    const value = body[field] ?? 0;
    if (value < 0 || value % 60 !== 0) refuse(`${field} must be a multiple of 60`);
  }
  if ((body.delete_after_stop_seconds ?? 0) > 30 * DAY_SECONDS) refuse('delete_after_stop_seconds is at most 30 days');
  if (proxy?.access_control?.allow_list !== undefined && proxy.access_control.deny_list !== undefined) {
    refuse('Only one of allow_list and deny_list may be set');
  }
  checkSize(body);
}

/** An allow list of nothing that exists closes everything; none leaves the web open. */
export function networkOf({ proxy_config: proxy }: UpdateBody): NetworkLevel {
  return (proxy?.access_control?.allow_list ?? []).length > 0 ? 'none' : 'open';
}

/** 4 GiB for each core, more or less by half. */
function checkSize({ cpu_millicores: millis, mem_bytes: memory, fs_capacity_bytes: disk }: CreateBody): void {
  if (millis !== undefined && (millis < 50 || millis > 16_000)) refuse('cpu_millicores is out of range');
  if ((memory ?? 0) > 64 * GIB || (disk ?? 0) > 64 * GIB) refuse('At most 64 GiB');
  if (millis === undefined || memory === undefined) return;
  const usual = (millis / 1000) * 4 * GIB;
  if (memory < usual / 2 || memory > usual * 1.5) refuse('mem_bytes must stay within 50% of 4 GiB per vCPU');
}

function refuse(message: string): never {
  throw new Refusal(422, message);
}

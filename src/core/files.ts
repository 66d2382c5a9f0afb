/**
 * Files in a sandbox. Binary-safe, any name in UTF-8, any size; paths resolve inside the sandbox and nowhere else. A name in other
 * bytes is listed with U+FFFD in their place, and cannot be named: a command can.
 */

export type FileKind = 'file' | 'directory' | 'link' | 'other';

export interface FileInfo {
  readonly name: string;
  readonly path: string;
  readonly kind: FileKind;
  readonly sizeBytes: number;
  readonly mode: number;
  readonly modifiedAt: number;
  /** Where a link points, as written in it. */
  readonly target?: string | undefined;
}

export type FileContent = string | Uint8Array | AsyncIterable<Uint8Array>;

export interface FileOptions {
  readonly signal?: AbortSignal | undefined;
}

export const DEFAULT_MAX_READ_BYTES: number = 64 * 1024 * 1024;

export interface ReadOptions extends FileOptions {
  /** What is longer, of several files together, is FILE_FAILED: it would be held in memory. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
}

/** Relative paths start at the sandbox's working directory. Missing → FILE_NOT_FOUND; other failures → FILE_FAILED. */
export interface Files {
  read(path: string, options?: ReadOptions): Promise<Uint8Array>;
  readText(path: string, options?: ReadOptions): Promise<string>;
  /** Any length: streams with back-pressure; nothing is held in memory. */
  readStream(path: string, options?: FileOptions): AsyncIterable<Uint8Array>;
  /** Creates parent directories; replaces what is there. A source that fails leaves what was there as it was. */
  write(path: string, content: FileContent, options?: FileOptions & { readonly mode?: number }): Promise<void>;
  writeMany(
    files: readonly { readonly path: string; readonly content: FileContent; readonly mode?: number }[],
    options?: FileOptions,
  ): Promise<void>;
  /** In the order asked; a missing file is undefined. */
  readMany(paths: readonly string[], options?: ReadOptions): Promise<readonly (Uint8Array | undefined)[]>;
  /** FILE_FAILED for a directory of more than some hundred thousand entries. */
  list(path: string, options?: FileOptions): Promise<readonly FileInfo[]>;
  /** Does not follow a link at the end of the path. */
  stat(path: string, options?: FileOptions): Promise<FileInfo>;
  exists(path: string, options?: FileOptions): Promise<boolean>;
  /** Parents included; already there is success. */
  mkdir(path: string, options?: FileOptions): Promise<void>;
  move(from: string, to: string, options?: FileOptions): Promise<void>;
  /** Whole trees, but not one that holds the working directory; missing is success. */
  remove(path: string, options?: FileOptions): Promise<void>;
}

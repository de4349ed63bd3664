import { mkdir, open, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResourceType } from '@medplum/fhirtypes';
import type { JobEvent } from '../jobs/job.ts';
import type { Write } from './change.ts';

/** One line of the journal: the writes of a commit, changes of jobs, or an expunged resource. */
export interface JournalEntry {
  readonly writes?: readonly Write[];
  readonly jobs?: readonly JobEvent[];
  readonly expunged?: { readonly type: ResourceType; readonly id: string };
}

/** The append-only record of everything that was committed. */
export interface Journal {
  /** Queues an entry for writing; entries keep their order. */
  append(entry: JournalEntry): void;
  /** Resolves when everything appended so far is on disk; rejects when it cannot be written. */
  flushed(): Promise<void>;
  close(): Promise<void>;
}

/** A journal for sandboxes without a data folder: it stores nothing. */
export const memoryOnly: Journal = {
  append: () => undefined,
  flushed: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** Reads the complete lines of a journal, and truncates an incomplete last line. */
async function replay(path: string): Promise<JournalEntry[]> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') {
      return Buffer.alloc(0);
    }
    throw error;
  });
  const complete = bytes.lastIndexOf('\n') + 1;
  if (complete < bytes.length) {
    await truncate(path, complete);
  }
  const lines = bytes.toString('utf8', 0, complete).split('\n').filter(Boolean);
  return lines.map((line): JournalEntry => JSON.parse(line));
}

/**
 * Opens the journal of a data folder. Entries that arrive while the disk is busy are written together, with one fsync
 * (group commit).
 *
 * @param folder - created if it does not exist; must not be used by two processes at once
 * @returns the journal, and its existing entries
 * @throws Error if the folder cannot be used, or a line in the middle is damaged
 */
export async function openJournal(folder: string): Promise<{ journal: Journal; entries: JournalEntry[] }> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'journal.jsonl');
  const entries = await replay(path);
  const file = await open(path, 'a', 0o600);
  let waiting: string[] = [];
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting.join('');
      waiting = [];
      await file.appendFile(lines);
      await file.datasync();
    }
    writing = undefined;
  }

  const journal: Journal = {
    append(entry) {
      waiting.push(`${JSON.stringify(entry)}\n`);
      writing ??= writeAll();
      // `flushed` reports a failure to all its callers, and nothing is written from then on.
      writing.catch(() => undefined);
    },
    flushed: () => writing ?? Promise.resolve(),
    async close() {
      await writing;
      await file.close();
    },
  };
  return { journal, entries };
}

import { readFileSync } from 'node:fs'

/** The result of one test file. */
export interface FileResult {
  readonly file: string
  readonly passed: number
  readonly skipped: number
  /** Failed tests, each with its errors as people read them; suites and files that could not run count as one each. */
  readonly failures: readonly { readonly test: string; readonly text: string }[]
  /** Wall time. */
  readonly ms: number
  /** Processor time of the worker and of the children that it waited for, in seconds; 0 if it is not known. */
  readonly cpuSeconds: number
}

/** Everything that a run of the tests wrote down. */
export interface RunRecord {
  readonly files: readonly FileResult[]
  /** Errors outside any test, such as an unhandled rejection. */
  readonly errors: readonly string[]
  /** False if the run broke off. */
  readonly ended: boolean
}

/** One line of the file that the reporter and the workers append to. */
export type RecordLine =
  | ({ readonly kind: 'file' } & FileResult)
  /** A worker's process begins with the test file at a path. */
  | { readonly kind: 'begin'; readonly path: string; readonly pid: number }
  /** Leaks are found after the end of the run. */
  | { readonly kind: 'end' | 'leaks'; readonly errors: readonly string[] }

/** Reads the lines that a reporter wrote to `path`; a run that broke off has no end. */
export function readRecord(path: string): RunRecord {
  const lines = linesOf(path)
  return {
    files: lines.filter(line => line.kind === 'file'),
    errors: lines.flatMap(line => ('errors' in line ? line.errors : [])),
    ended: lines.some(line => line.kind === 'end'),
  }
}

/** Returns the process that began with the test file at an absolute path, and has begun with none since. */
export function processAt(path: string, recordPath: string): number | undefined {
  const begins = linesOf(recordPath).filter(line => line.kind === 'begin')
  const pid = begins.findLast(line => line.path === path)?.pid
  return begins.findLast(line => line.pid === pid)?.path === path ? pid : undefined
}

function linesOf(path: string): readonly RecordLine[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter(line => line.endsWith('}')).map(line => JSON.parse(line) as RecordLine)
}

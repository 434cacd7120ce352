import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunRecord, readRecord } from './record.ts'
import type { Costs } from './tiers.ts'

/** How a run of vitest ended. */
export interface RunEnd extends RunRecord {
  /** The exit code; not 0 without a failed test if the machine was left with leaks, or the runner broke. */
  readonly code: number
}

/** How to run test files. */
export interface RunOptions {
  readonly root: string
  readonly files: readonly string[]
  readonly costs: Costs
  /** One process with nothing beside it. */
  readonly alone?: true
  readonly signal: AbortSignal
}

/**
 * Runs test files in a process of vitest's own and returns their results. If the signal aborts, vitest says what it is at and is
 * told to end.
 */
export async function runVitest({ root, files, costs, alone, signal }: RunOptions): Promise<RunEnd> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-gate-'))
  const [list, record] = [join(folder, 'files.json'), join(folder, 'record.jsonl')]
  try {
    writeFileSync(list, JSON.stringify(files))
    writeFileSync(record, '')
    const child = spawn(
      process.execPath,
      [
        join(root, 'node_modules/vitest/vitest.mjs'),
        'run',
        `--reporter=${join(root, 'script/gate/reporter.ts')}`,
        ...(alone === true ? ['--maxWorkers=1'] : []),
      ],
      {
        cwd: root,
        stdio: ['ignore', 'inherit', 'inherit'],
        env: {
          ...process.env,
          GATE_FILES: list,
          GATE_RECORD: record,
          GATE_COSTS: JSON.stringify(costs),
        },
      },
    )
    const end = () => {
      child.kill('SIGUSR2')
      child.kill('SIGINT')
    }
    signal.addEventListener('abort', end, { once: true })
    const { promise, resolve } = Promise.withResolvers<number>()
    child.once('exit', code => resolve(code ?? 1))
    child.once('error', error => {
      console.error(error)
      resolve(1)
    })
    const code = await promise
    signal.removeEventListener('abort', end)
    return { code, ...readRecord(record) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

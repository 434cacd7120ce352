import { spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRecord } from '../gate/record.ts'

const root = join(import.meta.dirname, '../..')

/**
 * Runs test files in a vitest of their own, with the reporter of the gate.
 * @param directory is empty, and gets the files
 */
export function runFiles(
  directory: string,
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
) {
  for (const [name, source] of Object.entries(files)) writeFileSync(join(directory, name), source)
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  const path = join(directory, 'record')
  const reporter = `--reporter=${join(root, 'script/gate/reporter.ts')}`
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', directory, reporter]
  writeFileSync(path, '')
  const ended = spawnSync(process.execPath, args, {
    env: { ...process.env, ...env, GATE_RECORD: path },
    encoding: 'utf8',
    // A run that hangs holds up this process, where no bound of the test is heeded.
    timeout: 200_000,
    killSignal: 'SIGKILL',
  })
  return { ended, record: readRecord(path) }
}

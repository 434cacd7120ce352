import manifest from '../../package.json' with { type: 'json' }
import type { ConnectionFlags } from '../connection.ts'
import type { Finding } from '../doctor/finding.ts'
import { examineService } from '../doctor/service.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { LocalIo } from '../io.ts'
import type { Paint } from '../output.ts'
import { withServer } from '../server-module.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'

export interface DoctorOptions extends ConnectionFlags {
  readonly json?: boolean
}

/** The examination of a machine that the server package exports. */
interface DoctorModule {
  examine(env: NodeJS.ProcessEnv, report: (finding: Finding) => void): Promise<void>
}

/**
 * Examines this machine, and the service that the command would ask. It prints each finding as soon as it is made.
 * @returns 1 if there is a failure; warnings are none
 */
export async function doctor(options: DoctorOptions, env: NodeJS.ProcessEnv, io: LocalIo): Promise<ExitCode> {
  const { stdout } = io
  const findings: Finding[] = []
  const lines: Promise<void>[] = []
  const report = (finding: Finding): void => {
    findings.push(finding)
    lines.push(stdout.write(options.json ? `${jsonLine(finding)}\n` : textOf(finding, io)))
  }
  try {
    await withServer('@berth/server/doctor', ({ examine }: DoctorModule) => examine(env, report))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const detail = 'this installation has only the client, so the machine was not examined as the place of a service'
    report({ check: 'machine', state: 'ok', detail, next: null })
  }
  await examineService(options, env, manifest.version, report)
  await Promise.all(lines)
  const count = (state: Finding['state']) => findings.filter(finding => finding.state === state).length
  const [failures, warnings] = [count('failure'), count('warning')]
  if (!options.json && stdout.isTerminal) {
    await stdout.line(
      `\n${failures === 0 ? 'nothing is missing' : counted(failures, 'failure')}, ${counted(warnings, 'warning')}`,
    )
  }
  return failures === 0 ? exitCode.completed : exitCode.failed
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

const colours = { ok: 'green', warning: 'yellow', failure: 'red' } as const

/** A finding as a line with the next step below it; in a pipe its members stand between tabs. */
function textOf({ check, state, detail, next }: Finding, { stdout }: LocalIo): string {
  const cells = [state, check, detail, ...(next === null ? [] : [next])].map(printableLine)
  if (!stdout.isTerminal) return `${cells.join('\t')}\n`
  const [, name = '', text = '', todo] = cells
  const paint: Paint = stdout.paint
  const line = `${paint(colours[state], state.padEnd(7))}  ${name.padEnd(15)}  ${text}\n`
  return todo === undefined ? line : `${line}${' '.repeat(26)}${paint('dim', '→')} ${todo}\n`
}

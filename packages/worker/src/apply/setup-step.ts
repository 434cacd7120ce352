import type { ApplyReport } from '@berth/core/sessions/leases/apply-report.ts'
import { workEndsAt } from '@berth/core/sessions/leases/lease-bound.ts'
import { type FileText, MAX_FILE_BYTES, type SetupEnd } from '@berth/supervisor/apply'
import { environmentWith, setupVariables } from '../agent/agent-environment.ts'
import { ApplyFailed } from './apply-failed.ts'
import type { ApplyParts, ApplyStep } from './apply-parts.ts'
import { type ProgramEnd, runProgram } from './run-program.ts'
import { readExports, sealExports } from './setup-exports.ts'

/** The longest time that a timer can keep, with room for a program that is late. */
const LONGEST_MS = 2 ** 31 - 60_000

/** Runs the setup script, in the agent's working directory. */
export const setupStep: ApplyStep = {
  name: 'setup',
  isDue: ({ setup }) => setup !== '',
  async run(parts, signal) {
    const { context, document, environment, lease, output, restored, runtime } = parts
    // A script that outlasts the lease's bound would take the sandbox with it.
    const leftMs = workEndsAt(lease).getTime() - context.clock.now().getTime()
    const timeoutMs = Math.max(1000, Math.min(context.limits.setupMs, leftMs, LONGEST_MS))
    const platform = restored ? { BERTH_RESTORED: 'true' } : {}
    let end: SetupEnd | null = null
    const ended = await runProgram(
      parts,
      {
        name: 'setup',
        order: { setup: { script: document.setup, timeoutMs } },
        env: { ...environmentWith(runtime.reach, setupVariables(environment)), ...platform },
        limitMs: timeoutMs,
        take: message => {
          end = parseEnd(message['end']) ?? end
        },
      },
      signal,
    ).catch(async error => {
      if (error instanceof ApplyFailed) throw new ApplyFailed(error.code, { output: await output.end() })
      throw error
    })
    return resultOf(parts, ended, end)
  },
}

/** @throws ApplyFailed unless the script exited with 0 */
async function resultOf(
  { context, lease, output }: ApplyParts,
  { journal, late }: ProgramEnd,
  end: SetupEnd | null,
): Promise<Partial<ApplyReport>> {
  if (end === null) throw new ApplyFailed(late ? 'setup_timeout' : 'apply_failed', { output: await output.end() })
  const { exports, leftOut } = readExports(end)
  const report = { journal, output: await output.end(leftOut) }
  // A worker that comes late reads the end of a script that may have been in time.
  if (end.timedOut || (late && end.exitCode === null)) throw new ApplyFailed('setup_timeout', report)
  if (end.exitCode === null) throw new ApplyFailed('setup_exit_nonzero', report)
  const applied = { ...report, setupExitCode: end.exitCode }
  if (end.exitCode !== 0) throw new ApplyFailed('setup_exit_nonzero', applied)
  const empty = Object.keys(exports.variables).length === 0 && exports.path.length === 0
  return { ...applied, ...(!empty && { exports: sealExports(context.db, lease, exports) }) }
}

/** Reads the program's last message, which setup itself may have written. */
function parseEnd(value: unknown): SetupEnd | null {
  if (typeof value !== 'object' || value === null) return null
  const { exitCode, timedOut, env, path } = value as Record<string, unknown>
  const [envText, pathText] = [parseFile(env), parseFile(path)]
  if (envText === null || pathText === null) return null
  if (exitCode !== null && !Number.isSafeInteger(exitCode)) return null
  return { exitCode: exitCode as number | null, timedOut: timedOut === true, env: envText, path: pathText }
}

function parseFile(value: unknown): FileText | null {
  if (typeof value !== 'object' || value === null) return null
  const { text, isCut } = value as Record<string, unknown>
  if (typeof text !== 'string' || text.length > MAX_FILE_BYTES) return null
  return { text, isCut: isCut === true }
}

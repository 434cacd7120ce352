import { pathOf, type StoredDocument } from '@berth/core/environments/document.ts'
import type { ApplyReport } from '@berth/core/sessions/leases/apply-report.ts'
import { workEndsAt } from '@berth/core/sessions/leases/lease-bound.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import type { CloneState } from '@berth/supervisor/apply'
import { agentEnvironment } from '../agent/agent-environment.ts'
import { ApplyFailed } from './apply-failed.ts'
import type { ApplyStep } from './apply-parts.ts'
import { runProgram } from './run-program.ts'

type Repositories = StoredDocument['repositories']

/** Clones the repositories of the document; those of a Session with a launch repository are skipped. */
export const cloneStep: ApplyStep = {
  name: 'clone',
  isDue: ({ repositories }) => repositories.length > 0,
  async run(parts, signal) {
    const { context, document, hasSource, lease, output, runtime } = parts
    const { repositories } = document
    if (hasSource)
      return {
        repositories: report(
          repositories,
          repositories.map(() => 'skipped'),
        ),
      }
    const names = repositories.map(({ repository }) => repository)
    const urls = await context.git.cloneUrls(lease.id, names)
    const leftMs = workEndsAt(lease).getTime() - context.clock.now().getTime()
    const timeoutMs = Math.max(1000, Math.min(context.limits.cloneMs, leftMs))
    const entries = repositories.map((entry, index) => ({
      url: urls[index] ?? '',
      path: pathOf(entry),
      ...(entry.branch !== undefined && { branch: entry.branch }),
    }))
    let states: readonly CloneState[] = []
    const { journal } = await runProgram(
      parts,
      {
        name: 'clone',
        order: { clone: { directory: insidePaths.workspace, repositories: entries, timeoutMs } },
        // The platform's alone: a variable of the document must not lead git elsewhere.
        env: agentEnvironment(runtime.reach, parts.environment.hasAuthority),
        limitMs: timeoutMs,
        take: message => {
          states = parseStates(message['end'], entries.length) ?? states
        },
      },
      signal,
    ).catch(async error => {
      if (error instanceof ApplyFailed) throw new ApplyFailed(error.code, { output: await output.end() })
      throw error
    })
    const result = { journal, output: await output.end(), repositories: report(repositories, states) }
    const areThere = states.length > 0 && states.every(state => state === 'cloned' || state === 'kept')
    if (!areThere) throw new ApplyFailed('repository_clone_failed', result)
    return result
  },
}

/** Returns what the Event tells: the repositories that have come to an end. */
function report(
  repositories: Repositories,
  states: readonly (CloneState | 'skipped')[],
): NonNullable<ApplyReport['repositories']> {
  return repositories.flatMap((entry, index) => {
    const state = states[index] ?? null
    return state === null ? [] : [{ repository: entry.repository, path: pathOf(entry), state }]
  })
}

/** Reads the program's last message, which came out of the sandbox. */
function parseStates(end: unknown, count: number): readonly CloneState[] | null {
  const { states } = (end ?? {}) as { states?: unknown }
  return Array.isArray(states) && states.length === count && states.every(isState) ? states : null
}

const isState = (value: unknown): value is CloneState =>
  value === null || value === 'cloned' || value === 'kept' || value === 'failed'

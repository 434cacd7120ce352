import { type FollowUp, hasCode } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { factsOf } from '../resources/show-value.ts'
import { jsonLine } from '../terminal-text.ts'
import { printFacts } from './facts.ts'
import { lastPullRequest } from './last-pull-request.ts'

/** Bounds of a follow-up, as options give them. */
export interface FollowOptions {
  readonly attempts?: number
  /** US dollars. */
  readonly budget?: number
  readonly days?: number
  readonly mergeWhenReady?: boolean
}

/** Returns the bounds that options name; the service has the others. */
export const followUpOf = ({ attempts, budget, days, mergeWhenReady }: FollowOptions) => ({
  ...(attempts !== undefined && { maxAttempts: attempts }),
  ...(budget !== undefined && { budgetUsd: budget }),
  ...(days !== undefined && { days }),
  ...(mergeWhenReady && { merge: 'when_ready' as const }),
})

/**
 * Throws if there are bounds of a follow-up that nobody asks for.
 * @throws UsageError
 */
export function requireFollow(follow: boolean | undefined, options: FollowOptions): void {
  const given = { attempts: '--attempts', budget: '--budget', days: '--days', mergeWhenReady: '--merge-when-ready' }
  const named = Object.entries(given).flatMap(([name, flag]) =>
    Reflect.get(options, name) === undefined ? [] : [flag],
  )
  if (follow !== true && named.length > 0) throw new UsageError(`${named.join(', ')} needs --follow`)
}

export interface PullOptions extends FollowOptions {
  readonly json?: boolean
}

type Command = (
  sessionId: string,
  publicationId: string | undefined,
  options: PullOptions,
  io: CommandIo,
) => Promise<ExitCode>

/** Makes a command on the follow-up of a pull request, by default of the Session's newest. */
const onFollowUp =
  (
    act: (
      key: { readonly sessionId: string; readonly publicationId: string },
      options: PullOptions,
      client: CommandIo['client'],
    ) => Promise<FollowUp>,
  ): Command =>
  async (sessionId, publicationId, options, { client, stdout }) => {
    const key = { sessionId, publicationId: publicationId ?? (await lastPullRequest(client, sessionId)) }
    const followUp = await act(key, options, client)
    if (options.json) await stdout.line(jsonLine(followUp))
    else await printFacts(linesOf(followUp), stdout)
    return exitCode.completed
  }

export const showFollowUp = onFollowUp(async (key, _, client) => (await client.call('getFollowUp', key)).followUp)

export const stopFollowUp = onFollowUp(async (key, _, client) => (await client.call('stopFollowUp', key)).followUp)

/** Goes on with a follow-up, with the bounds that it had unless options say otherwise; begins one where there is none. */
export const retryFollowUp = onFollowUp(async (key, options, client) => {
  const body = { ...boundsOf(await findFollowUp(key, client)), ...followUpOf(options) }
  return (await client.call('putFollowUp', { ...key, body })).followUp
})

async function findFollowUp(
  key: { readonly sessionId: string; readonly publicationId: string },
  client: CommandIo['client'],
): Promise<FollowUp | null> {
  try {
    return (await client.call('getFollowUp', key)).followUp
  } catch (error) {
    if (hasCode(error, 'cloud_follow_up_not_found')) return null
    throw error
  }
}

const boundsOf = (before: FollowUp | null) =>
  before === null
    ? {}
    : {
        maxAttempts: before.maxAttempts,
        ...(before.budgetUsd !== null && { budgetUsd: before.budgetUsd }),
        merge: before.merge === 'when_ready' ? ('when_ready' as const) : ('never' as const),
        on: before.on as ('checks' | 'reviews' | 'conflicts' | 'base')[],
      }

/** Returns a follow-up for people: its Turns one a line. */
function linesOf({ history, pullRequest, ...shown }: FollowUp): readonly (readonly [string, string | string[]])[] {
  const turns = history.map(({ at, cause, turnId }) => `${at}  ${cause}  turn ${turnId}`)
  return [
    ['pullRequest', `#${pullRequest.number} ${pullRequest.url}`],
    ...factsOf(shown),
    ...(turns.length > 0 ? [['history', turns] as const] : []),
  ]
}

import { type BerthClient, type FollowUp, hasCode, type PullRequest } from '@berth/client'
import { Type } from 'typebox'
import { nextCursor, orNull, type ToolCall, tool } from '../tool.ts'

/** The bounds of a follow-up, as a model gives them. */
export const followUpInput = Type.Object(
  {
    maxAttempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, description: '5 if absent.' })),
    budgetUsd: Type.Optional(Type.Number({ minimum: 0.01, description: 'What models may cost, in US dollars.' })),
    days: Type.Optional(Type.Integer({ minimum: 1, maximum: 30, description: '7 if absent.' })),
    merge: Type.Optional(
      Type.Enum(['never', 'when_ready'], {
        type: 'string',
        description: '`when_ready` merges it once the host allows that. Ask your own user first.',
      }),
    ),
  },
  {
    description:
      'Carries the pull request on until it is merged: failed checks, reviews, conflicts and a moved base make turns.',
  },
)

const followUp = Type.Object({
  state: Type.String({ description: '`needs_person` rests; `merged`, `closed` and `stopped` are final.' }),
  reason: orNull('Why it needs a person, or was stopped.'),
  attempts: Type.Integer(),
  maxAttempts: Type.Integer(),
  spentUsd: Type.Number(),
  budgetUsd: Type.Union([Type.Number(), Type.Null()]),
  until: Type.String(),
})

const pullRequest = {
  sessionId: Type.String(),
  publicationId: Type.String(),
  number: Type.Integer(),
  url: Type.String(),
}

const shownFollowUp = ({ state, reason, attempts, maxAttempts, spentUsd, budgetUsd, until }: FollowUp) => ({
  state,
  reason: reason ?? null,
  attempts,
  maxAttempts,
  spentUsd,
  budgetUsd,
  until,
})

export const listPullRequests = tool({
  name: 'list_pull_requests',
  title: 'List pull requests',
  description: 'Lists the pull requests that sessions have published, the last changed first, and whose turn it is.',
  input: Type.Object({
    state: Type.Optional(Type.Enum(['open', 'draft', 'merged', 'closed', 'unknown'], { type: 'string' })),
    cursor: Type.Optional(Type.String()),
  }),
  output: Type.Object({
    pullRequests: Type.Array(
      Type.Object({
        ...pullRequest,
        repository: Type.String(),
        title: Type.String(),
        state: Type.String(),
        turn: Type.String({ description: '`agent`, `person`, `host` or `nobody`.' }),
        followUp: Type.Union([followUp, Type.Null()]),
      }),
    ),
    nextCursor: nextCursor(),
  }),
  reads: true,
  async run(query, { client, signal }) {
    const { pullRequests, nextCursor: next } = await client.call('listPullRequests', { query }, { signal })
    const lines = pullRequests.map(lineOf)
    return {
      text: lines.length === 0 ? 'No pull requests.' : lines.join('\n'),
      data: { pullRequests: pullRequests.map(shownPull), nextCursor: next },
    }
  },
})

function lineOf({ repository, number, title, state, turn, followUp: followed, sessionId }: PullRequest): string {
  const upkeep = followed === null ? '' : `, followed up: ${stateText(followed)}`
  return `${repository}#${number} ${title}: ${state}, turn of ${turn}${upkeep} (session ${sessionId})`
}

const stateText = ({ state, reason, attempts, maxAttempts }: FollowUp): string =>
  `${state}${reason === undefined ? '' : ` (${reason})`}, ${attempts} of ${maxAttempts} attempts`

const shownPull = ({ followUp: followed, ...pull }: PullRequest) => ({
  sessionId: pull.sessionId,
  publicationId: pull.publicationId,
  number: pull.number,
  url: pull.url,
  repository: pull.repository,
  title: pull.title,
  state: pull.state,
  turn: pull.turn,
  followUp: followed === null ? null : shownFollowUp(followed),
})

const key = {
  sessionId: Type.String(),
  publicationId: Type.Optional(Type.String({ description: 'The latest pull request of the session if absent.' })),
}
const answer = Type.Object({ ...pullRequest, followUp })

interface PullKey {
  readonly sessionId: string
  readonly publicationId?: string
}

/** Names the pull request that a call means. */
async function pullOf({ sessionId, publicationId }: PullKey, client: BerthClient) {
  if (publicationId !== undefined) return { sessionId, publicationId }
  for await (const { id, result } of client.items('listPublications', { sessionId })) {
    if (result?.pullRequest !== undefined) return { sessionId, publicationId: id }
  }
  throw new Error('the session has no pull request; publish_changes opens one')
}

async function answerOf(
  named: PullKey,
  { client }: ToolCall,
  act: (pull: { readonly sessionId: string; readonly publicationId: string }) => Promise<{ followUp: FollowUp }>,
) {
  const pull = await pullOf(named, client)
  const { followUp: followed } = await act(pull)
  const { number, url } = followed.pullRequest
  return {
    text: `Pull request ${number}, ${url}: ${stateText(followed)}`,
    data: { ...pull, number, url, followUp: shownFollowUp(followed) },
  }
}

export const showPullRequest = tool({
  name: 'show_pull_request',
  title: 'Show the follow-up of a pull request',
  description:
    'Returns what the service does for a pull request until it is merged. It is refused if nothing follows it.',
  input: Type.Object(key),
  output: answer,
  reads: true,
  run: (named, call) => answerOf(named, call, pull => call.client.call('getFollowUp', pull, { signal: call.signal })),
})

export const stopPullRequest = tool({
  name: 'stop_pull_request',
  title: 'Stop the follow-up of a pull request',
  description: 'Stops it. A run that is at it goes on, and nothing of it is pushed. The pull request stays open.',
  input: Type.Object(key),
  output: answer,
  repeatable: true,
  run: (named, call) => answerOf(named, call, pull => call.client.call('stopFollowUp', pull, { signal: call.signal })),
})

export const retryPullRequest = tool({
  name: 'retry_pull_request',
  title: 'Go on with the follow-up of a pull request',
  description:
    'Goes on with one that needs a person or was stopped, with the bounds that it had unless others are given; begins one where there is none.',
  input: Type.Object({ ...key, followUp: Type.Optional(followUpInput) }),
  output: answer,
  repeatable: true,
  run: ({ followUp: bounds, ...named }, call) =>
    answerOf(named, call, async pull => {
      const body = { ...(await boundsBefore(pull, call)), ...bounds }
      return call.client.call('putFollowUp', { ...pull, body }, { signal: call.signal })
    }),
})

async function boundsBefore(
  pull: { readonly sessionId: string; readonly publicationId: string },
  { client, signal }: ToolCall,
) {
  try {
    const { maxAttempts, budgetUsd, merge, on } = (await client.call('getFollowUp', pull, { signal })).followUp
    return {
      maxAttempts,
      ...(budgetUsd !== null && { budgetUsd }),
      merge: merge === 'when_ready' ? ('when_ready' as const) : ('never' as const),
      on: on as ('checks' | 'reviews' | 'conflicts' | 'base')[],
    }
  } catch (error) {
    if (hasCode(error, 'cloud_follow_up_not_found')) return {}
    throw error
  }
}

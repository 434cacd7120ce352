import { type ReviewFile, readPullRequestDraft, settled } from '@berth/client'
import { Type } from 'typebox'
import { clip } from '../text.ts'
import { tool } from '../tool.ts'
import { factsOf, factsOutput, factsText } from './claims.ts'
import { followUpInput } from './pull-requests.ts'

/** A model reads this much of a patch at once. */
const PATCH_CHARACTERS_MOST = 60_000
/** A host that takes longer is followed by another call with the same `publicationId`. */
const SECONDS_MOST = 45

export const reviewChanges = tool({
  name: 'review_changes',
  title: 'Review the changes of a session',
  description:
    'Returns the revision of what the agent has changed, its files and its patch, what a reader must not miss of them, and what the draft of the pull request claims in vain.',
  input: Type.Object({ sessionId: Type.String() }),
  output: Type.Object({
    sessionId: Type.String(),
    revision: Type.String({ description: 'What publish_changes publishes.' }),
    additions: Type.Integer(),
    deletions: Type.Integer(),
    targetBranch: Type.String(),
    files: Type.Array(
      Type.Object({
        path: Type.String(),
        status: Type.String(),
        additions: Type.Integer(),
        deletions: Type.Integer(),
        binary: Type.Boolean(),
        previousMode: Type.Optional(Type.String()),
        mode: Type.Optional(Type.String()),
        target: Type.Optional(Type.String()),
      }),
    ),
    notes: Type.Array(Type.String(), { description: 'Paths that are left out, and warnings of git.' }),
    patchCut: Type.Boolean({ description: 'Whether the patch in the text is not all of it.' }),
    draft: Type.Object(
      { title: Type.String(), body: Type.String() },
      { description: "The agent's draft: what publish_changes publishes without a title." },
    ),
    ...factsOutput,
  }),
  reads: true,
  async run({ sessionId }, { client, signal }) {
    const { review } = await client.call('reviewRepository', { sessionId }, { signal })
    const { revision, files, additions, deletions, targetBranch, patch, patchTruncated, notes = [] } = review
    const cut = patchTruncated || patch.length > PATCH_CHARACTERS_MOST
    const draft = await readPullRequestDraft(client, sessionId, { signal })
    const facts = await factsOf(client, { sessionId, ...review }, draft, signal)
    return {
      text: [
        `Revision ${revision}: ${files.length} files, +${additions} -${deletions}, for ${targetBranch}.`,
        files.map(fileLine).join('\n'),
        ...(notes.length > 0 ? [notes.join('\n')] : []),
        `Draft of the pull request: ${draft.title}\n\n${draft.body}`.trim(),
        ...factsText(facts),
        clip(patch, PATCH_CHARACTERS_MOST),
        ...(cut ? ['The patch is longer than what is shown.'] : []),
      ].join('\n\n'),
      data: { sessionId, revision, additions, deletions, targetBranch, files, notes, patchCut: cut, draft, ...facts },
    }
  },
})

function fileLine({ status, path, previousMode, mode, target }: ReviewFile): string {
  const link = target === undefined ? '' : ` → ${target}`
  if (mode === undefined) return `${status} ${path}${link}`
  return `${status} ${path}${link}, mode ${previousMode === undefined ? mode : `${previousMode} → ${mode}`}`
}

export const publishChanges = tool({
  name: 'publish_changes',
  title: 'Publish the changes of a session',
  description:
    'Opens a pull request with exactly the reviewed revision; in a repository without a commit, pushes it as the first one. It is refused if the changes are no longer that revision: review them again then.',
  input: Type.Object({
    sessionId: Type.String(),
    revision: Type.String({ description: 'As review_changes returned it.' }),
    title: Type.Optional(
      Type.String({ minLength: 1, description: "Title and body are the agent's draft if it is absent." }),
    ),
    body: Type.Optional(Type.String()),
    branch: Type.Optional(Type.String()),
    draft: Type.Optional(Type.Boolean({ description: 'Opens it as a draft.' })),
    verified: Type.Optional(
      Type.Boolean({ description: 'Refuses it unless the newest verification of the revision has passed.' }),
    ),
    followUp: Type.Optional(followUpInput),
    publicationId: Type.Optional(
      Type.String({ format: 'uuid', description: 'A new UUID. With it, the call can be repeated safely.' }),
    ),
  }),
  output: Type.Object({
    sessionId: Type.String(),
    publicationId: Type.String(),
    status: Type.String({ description: '`succeeded` and `failed` are final.' }),
    pullRequest: Type.Union([Type.Object({ number: Type.Integer(), url: Type.String() }), Type.Null()]),
    error: Type.Union([Type.Object({ code: Type.String() }), Type.Null()]),
    ...factsOutput,
  }),
  async run(
    { sessionId, publicationId = crypto.randomUUID(), title: own, body: given, ...order },
    { client, signal, stopping },
  ) {
    const { revision } = order
    const draft = own === undefined ? await readPullRequestDraft(client, sessionId, { signal }) : null
    const title = own ?? draft?.title ?? ''
    if (title === '') throw new Error('the session has no title; give one')
    const body = given ?? draft?.body
    const { review } = await client.call('reviewRepository', { sessionId, query: { revision } }, { signal })
    const facts = await factsOf(client, { sessionId, ...review }, { title, body }, signal)
    const publication = { ...order, title, ...(body !== undefined && { body }), delivery: 'pull_request' as const }
    await client.call('createPublication', { sessionId, publicationId, body: publication }, { signal })
    const { status, result, lastError } = await settled(
      async () => (await client.call('getPublication', { sessionId, publicationId }, { signal })).publication,
      ({ completedAt }) => completedAt !== undefined,
      { signal, enough: stopping, atMostMs: SECONDS_MOST * 1000, platform: client.platform },
    )
    const request = result?.pullRequest
    const summary = (): string => {
      if (request !== undefined) return `Pull request ${request.number}: ${request.url}`
      if (result !== undefined)
        return `Pushed ${result.commitSha} to ${result.branch}, as the repository's first commit.`
      return `The publication is ${status}${lastError === undefined ? '' : `: ${JSON.stringify(lastError)}`}.`
    }
    return {
      text: [summary(), ...factsText(facts)].join('\n\n'),
      data: { sessionId, publicationId, status, pullRequest: request ?? null, error: lastError ?? null, ...facts },
    }
  },
})

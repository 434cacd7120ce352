import type { Publication } from '@berth/client'
import { Type } from 'typebox'
import { type ToolCall, tool } from '../tool.ts'
import { clip } from '../words.ts'

/** A model reads this much of a patch at once. */
const PATCH_CHARACTERS_MOST = 60_000
/** A host that takes longer is followed by another call with the same `publicationId`. */
const SECONDS_MOST = 45

export const reviewChanges = tool({
  name: 'review_changes',
  title: 'Review the changes of a session',
  description: 'Returns the revision of what the agent has changed, its files and its patch.',
  input: Type.Object({ sessionId: Type.String() }),
  reads: true,
  async run({ sessionId }, { client, signal }) {
    const { review } = await client.publications.review(sessionId, { signal })
    const { revision, files, additions, deletions, targetBranch, patch, patchTruncated } = review
    const cut = patchTruncated || patch.length > PATCH_CHARACTERS_MOST
    return {
      text: [
        `Revision ${revision}: ${files.length} files, +${additions} -${deletions}, for ${targetBranch}.`,
        files.map(({ status, path }) => `${status} ${path}`).join('\n'),
        clip(patch, PATCH_CHARACTERS_MOST),
        ...(cut ? ['The patch is longer than what is shown.'] : []),
      ].join('\n\n'),
      data: { sessionId, revision, additions, deletions, targetBranch, files, patchCut: cut },
    }
  },
})

export const publishChanges = tool({
  name: 'publish_changes',
  title: 'Publish the changes of a session',
  description:
    'Opens a pull request with exactly the reviewed revision. It is refused if the changes are no longer that revision: review them again then.',
  input: Type.Object({
    sessionId: Type.String(),
    revision: Type.String({ description: 'As review_changes returned it.' }),
    title: Type.String({ minLength: 1 }),
    body: Type.Optional(Type.String()),
    branch: Type.Optional(Type.String()),
    draft: Type.Optional(Type.Boolean()),
    publicationId: Type.Optional(
      Type.String({ format: 'uuid', description: 'A new UUID. With it, the call can be repeated safely.' }),
    ),
  }),
  async run({ sessionId, publicationId = crypto.randomUUID(), ...order }, call) {
    const { client, signal } = call
    await client.publications.put(sessionId, publicationId, { ...order, delivery: 'pull_request' }, { signal })
    const { status, result, lastError } = await settled(sessionId, publicationId, call)
    const request = result?.pullRequest
    const told =
      request === undefined
        ? `The publication is ${status}${lastError === undefined ? '' : `: ${JSON.stringify(lastError)}`}.`
        : `Pull request ${request.number}: ${request.url}`
    return {
      text: told,
      data: { sessionId, publicationId, status, pullRequest: request ?? null, error: lastError ?? null },
    }
  },
})

/** Waits until a Publication is final, or for long enough. */
async function settled(sessionId: string, id: string, { client, signal, stopping }: ToolCall): Promise<Publication> {
  const { platform } = client
  for (const began = platform.now(); ; await platform.sleep(500, signal)) {
    const { publication } = await client.publications.get(sessionId, id, { signal })
    const isLate = stopping?.aborted === true || platform.now() - began > SECONDS_MOST * 1000
    if (publication.completedAt !== undefined || isLate) return publication
  }
}

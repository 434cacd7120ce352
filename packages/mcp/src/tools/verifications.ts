import { type CheckResult, readPullRequestDraft, settled } from '@berth/client'
import { Type } from 'typebox'
import { clip } from '../text.ts'
import { tool } from '../tool.ts'
import { factsOf, factsOutput, factsText } from './claims.ts'

/** Checks that take longer are waited for by another call with the same `verificationId`. */
const SECONDS_MOST = 45
/** A model reads this much of the output of a check that failed. */
const OUTPUT_CHARACTERS_MOST = 4_000

export const verifyChanges = tool({
  name: 'verify_changes',
  title: 'Verify the changes of a session',
  description:
    "Runs the checks of the session's environment on exactly a reviewed revision, in a sandbox that no agent has touched. If it has not ended, call it again with the same `verificationId`. The answer also holds the agent's draft of the pull request against the result.",
  input: Type.Object({
    sessionId: Type.String(),
    revision: Type.String({ description: 'As review_changes returned it.' }),
    verificationId: Type.Optional(
      Type.String({ format: 'uuid', description: 'A new UUID. With it, the call can be repeated safely.' }),
    ),
  }),
  output: Type.Object({
    sessionId: Type.String(),
    verificationId: Type.String(),
    revision: Type.String(),
    state: Type.String({ description: '`passed`, `failed`, `errored` and `cancelled` are final.' }),
    checks: Type.Array(Type.Object({ name: Type.String(), required: Type.Boolean(), state: Type.String() }), {
      description: 'In their order.',
    }),
    error: Type.Union([Type.Object({ code: Type.String() }), Type.Null()]),
    ...factsOutput,
  }),
  async run({ sessionId, revision, verificationId = crypto.randomUUID() }, { client, signal, stopping }) {
    const key = { sessionId, verificationId }
    await client.call('createVerification', { ...key, body: { revision } }, { signal })
    const { state, checks, error } = await settled(
      async () => (await client.call('getVerification', key, { signal })).verification,
      ({ completedAt }) => completedAt !== undefined,
      { signal, enough: stopping, atMostMs: SECONDS_MOST * 1000, platform: client.platform },
    )
    const { review } = await client.call('reviewRepository', { sessionId, query: { revision } }, { signal })
    const draft = await readPullRequestDraft(client, sessionId, { signal })
    const facts = await factsOf(client, { sessionId, ...review }, { ...draft, verified: state === 'passed' }, signal)
    const why = error === undefined ? '' : ` (${error.code})`
    return {
      text: [
        `The verification ${verificationId} is ${state}${why}.`,
        ...checks.map(checkText),
        ...factsText(facts),
      ].join('\n\n'),
      data: { sessionId, verificationId, revision, state, checks, error: error ?? null, ...facts },
    }
  },
})

function checkText({ name, required, state, exitCode, timedOut, outputTail = '' }: CheckResult): string {
  const how = timedOut ? ', its time was over' : exitCode == null || exitCode === 0 ? '' : `, exit code ${exitCode}`
  const head = `${name}: ${state}${how}${required ? '' : ' (not required)'}`
  return state === 'failed' && outputTail !== '' ? `${head}\n${clip(outputTail, OUTPUT_CHARACTERS_MOST)}` : head
}

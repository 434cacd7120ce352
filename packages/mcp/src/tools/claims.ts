import { type BerthClient, hasPassed, type Review } from '@berth/client'
import { type Claim, claimFault, notBorneOut } from '@berth/contract/claims'
import { signalLabel, signalMore } from '@berth/contract/signal-labels'
import { Type } from 'typebox'

/** Members of an answer that say what a reader must not miss of a change, and what its description claims in vain. */
export const factsOutput = {
  signals: Type.Array(
    Type.Object({
      kind: Type.String(),
      path: Type.String(),
      count: Type.Integer(),
      lines: Type.Array(Type.Object({ side: Type.String(), number: Type.Integer() })),
      detail: Type.Optional(Type.String()),
    }),
    { description: 'Facts of the change that a reader must not miss.' },
  ),
  notBorneOut: Type.Array(Type.Object({ text: Type.String(), path: Type.Optional(Type.String()) }), {
    description: 'Sentences of title and body that the revision does not bear out. Correct them.',
  }),
}

/** What is to be said of a revision and its description before it is published. */
interface Facts {
  readonly signals: Review['signals']
  readonly notBorneOut: Claim[]
}

/** Returns the signals of a revision, and the claims of its description that it does not bear out. */
export async function factsOf(
  client: BerthClient,
  { sessionId, revision, files, signals }: Review & { readonly sessionId: string },
  text: { readonly title: string; readonly body?: string | undefined; readonly verified?: boolean | undefined },
  signal: AbortSignal,
): Promise<Facts> {
  const verified = text.verified ?? (await hasPassed(client, { sessionId, revision }, { signal }))
  return { signals, notBorneOut: [...notBorneOut(`${text.title}\n\n${text.body ?? ''}`, { files, verified })] }
}

/** Returns the same as paragraphs for a model; none if there is nothing to say. */
export function factsText({ signals, notBorneOut: claims }: Facts): readonly string[] {
  const facts = signals.map(signal => {
    const places = signal.lines.map(({ side, number }) => `${side === 'before' ? '-' : ''}${number}`).join(',')
    const place = `${signal.path}${places === '' ? '' : `:${places}`}${signalMore(signal)}`
    return `${signalLabel(signal.kind)}: ${place}${signal.detail === undefined ? '' : `, ${signal.detail}`}`
  })
  return [
    ...(claims.length === 0
      ? []
      : [['Not borne out:', ...claims.map(claim => `“${claim.text}”: ${claimFault(claim)}`)].join('\n')]),
    ...(facts.length === 0 ? [] : [['What a reader must not miss:', ...facts].join('\n')]),
  ]
}

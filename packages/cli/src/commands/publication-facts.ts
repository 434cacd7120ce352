import { type BerthClient, hasPassed, type Review } from '@berth/client'
import { type Claim, claimFault, notBorneOut } from '@berth/contract/claims'
import { printableLine } from '../terminal-text.ts'
import { signalLine } from './review.ts'

/** What is to be said of a revision and its description before it is published. Nothing of it keeps that from happening. */
export interface PublicationFacts {
  readonly signals: Review['signals']
  readonly notBorneOut: readonly Claim[]
}

/** Of more signals the rest is counted: whoever publishes reads a few lines. */
const MOST_SIGNALS = 10

/**
 * Returns the signals of a revision, and the claims of a title and a text that it does not bear out.
 * @param text.verified whether a verification of the revision is known to have passed; otherwise it is looked for
 */
export async function publicationFacts(
  client: BerthClient,
  sessionId: string,
  { revision, files, signals }: Review,
  text: { readonly title: string; readonly body?: string | undefined; readonly verified?: boolean | undefined },
): Promise<PublicationFacts> {
  const description = `${text.title}\n\n${text.body ?? ''}`
  const unverified = notBorneOut(description, { files, verified: false })
  const isOpen = text.verified !== true && unverified.some(({ path }) => path === undefined)
  const verified = text.verified === true || (isOpen && (await hasPassed(client, { sessionId, revision })))
  return { signals, notBorneOut: verified ? unverified.filter(({ path }) => path !== undefined) : unverified }
}

/** Returns the same in lines for people. */
export function factLines({ signals, notBorneOut: claims }: PublicationFacts, sessionId: string): readonly string[] {
  const rest = signals.length - MOST_SIGNALS
  return [
    ...claims.map(claim => `! not borne out: “${printableLine(claim.text)}”: ${printableLine(claimFault(claim))}`),
    ...signals.slice(0, MOST_SIGNALS).map(signalLine),
    ...(rest > 0 ? [`! and ${rest} more: \`berth review ${printableLine(sessionId)}\` shows them`] : []),
  ]
}

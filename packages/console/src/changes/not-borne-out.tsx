import type { Review } from '@berth/client'
import { claimFault, notBorneOut } from '@berth/contract/claims'
import { useQuery } from '@tanstack/react-query'
import { printableLine } from '../ui/printable.ts'
import { verificationsQuery } from '../verification/queries.ts'

/** Shows the sentences of a description that the revision does not bear out. Nothing keeps them from being published. */
export function NotBorneOut(props: { sessionId: string; text: string; review: Review }) {
  const { sessionId, text, review } = props
  const made = useQuery(verificationsQuery(sessionId))
  if (made.isPending) return null
  const verified = made.data?.some(({ revision, state }) => revision === review.revision && state === 'passed') === true
  const claims = notBorneOut(text, { files: review.files, verified })
  if (claims.length === 0) return null
  return (
    <section
      aria-label="Not borne out"
      className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]"
    >
      <p className="font-semibold">Not borne out by this revision:</p>
      <ul className="max-h-32 list-disc overflow-y-auto pl-5">
        {claims.map((claim, at) => (
          <li key={at} dir="auto" className="break-words">
            “{printableLine(claim.text)}” <span className="text-ink-2">— {printableLine(claimFault(claim))}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

import { type Environment, ifRevision } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { berth } from '../api/client.ts'
import { useNameOf } from '../api/people.ts'
import { to } from '../routing/to.ts'
import type { Verdict } from '../session/session-can.ts'
import { Button } from '../ui/button.tsx'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { keepSaved } from './write-secret.ts'

type Proposed = Environment['proposedHosts'][number]

/** Hosts that people allowed in Sessions, for whoever writes the document: taken into it, or taken back. */
export function ProposedHosts({ environment, maySave }: { environment: Environment; maySave: Verdict }) {
  const nameOf = useNameOf()
  const { id, proposedHosts } = environment
  const settle = useMutation({
    mutationFn: (work: () => Promise<{ readonly environment: Environment }>) => work(),
    onSuccess: answer => keepSaved(answer.environment),
  })
  if (proposedHosts.length === 0) return null
  return (
    <section
      aria-labelledby="proposed-hosts"
      className="flex flex-col gap-2 rounded-md border border-line bg-raised px-3 py-3 text-[0.8125rem]"
    >
      <h2 id="proposed-hosts" className="text-sm font-semibold">
        Hosts that were allowed
      </h2>
      <p className="max-w-prose text-xs text-ink-2">
        People allowed these while they worked. If the environment asks about hosts, they hold already; the document
        does not name them.
      </p>
      <ul className="flex flex-col divide-y divide-line">
        {proposedHosts.map(({ host, sessionId, decidedBy }) => (
          <li key={host} className="flex flex-wrap items-center gap-2 py-2">
            <span className="min-w-0 flex-1">
              <span className="block font-mono [overflow-wrap:anywhere]">{host}</span>
              <span className="block text-xs text-ink-3">
                {printableLine(nameOf(decidedBy))} ·{' '}
                <Link {...to.session(sessionId)} className="text-accent underline">
                  Session
                </Link>
              </span>
            </span>
            <Button
              verdict={maySave}
              disabled={settle.isPending}
              aria-label={`Add ${host} to the document`}
              onClick={() => settle.mutate(() => take(environment, host))}
            >
              Add
            </Button>
            <Button
              variant="quiet"
              verdict={maySave}
              disabled={settle.isPending}
              aria-label={`Remove ${host}`}
              onClick={() => settle.mutate(() => berth.call('removeProposedHost', { environmentId: id, host }))}
            >
              Remove
            </Button>
          </li>
        ))}
      </ul>
      <InlineProblem error={settle.error} />
    </section>
  )
}

/** Writes the document with a host in it. */
function take({ id, revision, document }: Environment, host: Proposed['host']) {
  const { secrets: _, ...rest } = document
  const network = { ...document.network, hosts: [...document.network.hosts, host] }
  return berth.call('putEnvironment', {
    environmentId: id,
    headers: ifRevision(revision),
    body: { document: { ...rest, network } },
  })
}

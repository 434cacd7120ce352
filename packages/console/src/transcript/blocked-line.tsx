import type { BlockedHost } from '@berth/client/transcript'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Ban } from 'lucide-react'
import { berth } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'

const outcomes: Readonly<Record<string, string>> = {
  allowed: 'Allowed for the environment',
  proposed: 'Proposed for the environment',
  named: 'The environment names it by now',
}

/** An environment names hosts, and no addresses. */
const isName = (host: string): boolean => /\.[a-z0-9-]*[a-z][a-z0-9-]*$/.test(host)

/** A host that the sandbox was refused, with the button that allows it. */
export function BlockedLine(props: {
  blocked: BlockedHost
  text: string
  detail: string | undefined
  sessionId: string
}) {
  const { blocked, text, detail, sessionId } = props
  const { data: session } = useQuery(sessionQuery(sessionId))
  return (
    <div className="flex min-h-7 flex-wrap items-center gap-x-2 gap-y-1 py-0.5 pl-[1.875rem] text-[0.8125rem] text-ink-2">
      <Ban className="size-3.5 shrink-0 text-warning" aria-hidden />
      <span
        className="min-w-0 [overflow-wrap:anywhere]"
        title={detail === undefined ? undefined : printableLine(detail)}
      >
        {printableLine(text)}
      </span>
      {session !== undefined && session.environment !== null && blocked.allowable && isName(blocked.host) && (
        <Allow host={blocked.host} session={session} />
      )}
    </div>
  )
}

function Allow({ host, session }: { host: string; session: Parameters<typeof useSessionCan>[0] }) {
  const can = useSessionCan(session)
  const allow = useMutation({
    mutationFn: () => berth.call('allowSessionHost', { sessionId: session.id, host }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['environment'] }),
  })
  if (allow.data !== undefined)
    return (
      <span role="status" className="text-xs text-ink-3">
        {outcomes[allow.data.state] ?? 'Allowed'}
      </span>
    )
  return (
    <>
      <Button
        verdict={can('decide')}
        busy={allow.isPending}
        onClick={() => allow.mutate()}
        aria-label={`Allow ${host}`}
        className="h-6 px-2 text-xs max-lg:h-9"
      >
        Allow
      </Button>
      <InlineProblem error={allow.error} />
    </>
  )
}

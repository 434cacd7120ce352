import type { Session } from '@berth/client'
import type { PortList } from '@berth/contract'
import { limits } from '@berth/contract/limits'
import { useMutation } from '@tanstack/react-query'
import { Play, RotateCw, Square } from 'lucide-react'
import { call } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { serverNow } from '../api/server-clock.ts'
import { withSandbox } from '../changes/with-sandbox.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { TerminalText } from '../transcript/terminal-text.tsx'
import { Button } from '../ui/button.tsx'
import { useSecond } from '../ui/clock.ts'
import { countdown } from '../ui/format.ts'
import { InlineProblem } from '../ui/states.tsx'
import { portsQuery } from './queries.ts'

type Preview = NonNullable<PortList['preview']>

const MINUTES = 15

/** Keeps the sandbox running for a time; one that is gone is brought back first. */
function useStartPreview({ id }: Session) {
  return useMutation({
    mutationFn: (previewMinutes: number) =>
      withSandbox(id, () => call('POST', `sessions/${id}/terminals`, { previewMinutes, columns: 120 })),
    onSettled: () => queryClient.invalidateQueries({ queryKey: portsQuery(id).queryKey }),
  })
}

/** Starts a preview of the work after the Run. */
export function StartPreview({ session }: { session: Session }) {
  const start = useStartPreview(session)
  return (
    <>
      <Button
        variant="primary"
        verdict={useSessionCan(session)('startPreview')}
        busy={start.isPending}
        onClick={() => start.mutate(MINUTES)}
      >
        <Play className="size-3.5" aria-hidden /> {start.isPending ? 'Starting…' : `Start preview, ${MINUTES} minutes`}
      </Button>
      <InlineProblem error={start.error} />
    </>
  )
}

/** A preview that keeps the sandbox running: how it goes, until when, and its command's output if nothing listens. */
export function TimedPreview(props: { session: Session; preview: Preview; ports: PortList }) {
  const { session, preview, ports } = props
  const can = useSessionCan(session)('startPreview')
  const start = useStartPreview(session)
  const end = useMutation({
    mutationFn: () => call('DELETE', `terminals/${preview.terminalId}`),
    onSettled: () => queryClient.invalidateQueries({ queryKey: portsQuery(session.id).queryKey }),
  })
  const leftMs = Date.parse(preview.endsAt) - useSecond()
  const hasEnded = preview.state === 'exited' || preview.state === 'failed'
  const again = async () => {
    if (preview.state === 'exited') await end.mutateAsync()
    start.mutate(MINUTES)
  }
  const extend = () =>
    start.mutate(
      Math.min(limits.previewMinutes, MINUTES + Math.ceil((Date.parse(preview.endsAt) - serverNow()) / 60_000)),
    )
  return (
    <section aria-label="Preview" className="rounded-lg border border-line bg-surface">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-3.5 py-2.5">
        <p className="min-w-48 flex-1 text-[0.8125rem]">
          <strong role="status" className={`font-semibold ${hasEnded && preview.exitCode !== 0 ? 'text-bad' : ''}`}>
            {headline(preview, ports)}
          </strong>
          {preview.state !== 'failed' && (
            <span className="ml-2 whitespace-nowrap text-ink-3 tabular-nums">{countdown(leftMs)} left</span>
          )}
        </p>
        <span className="ml-auto flex flex-wrap justify-end gap-2">
          {hasEnded && (
            <Button verdict={can} busy={start.isPending || end.isPending} onClick={() => void again().catch(() => {})}>
              <RotateCw className="size-3.5" aria-hidden /> Start again
            </Button>
          )}
          {preview.state !== 'failed' && (
            <>
              <Button verdict={can} busy={start.isPending} onClick={extend}>
                {MINUTES} more minutes
              </Button>
              <Button variant="quiet" verdict={can} busy={end.isPending} onClick={() => end.mutate()}>
                <Square className="size-3.5" aria-hidden /> End
              </Button>
            </>
          )}
        </span>
      </div>
      <div className="px-3.5 pb-2.5 empty:hidden">
        <InlineProblem error={start.error ?? end.error} />
      </div>
      {ports.previewCommand !== undefined && preview.output !== '' && (
        <details open={hasEnded || !isServed(ports)} className="border-t border-line">
          <summary className="cursor-pointer px-3.5 py-2 text-xs text-ink-2">Output of the command</summary>
          <div className="mx-1 mb-1 rounded-md bg-code">
            <TerminalText text={preview.output} atEnd className="max-h-72" />
          </div>
        </details>
      )}
    </section>
  )
}

const isServed = ({ ports, previewCommand }: PortList): boolean =>
  previewCommand?.port === undefined ? ports.length > 0 : ports.includes(previewCommand.port)

function headline({ state, exitCode }: Preview, ports: PortList): string {
  const { previewCommand } = ports
  if (state === 'failed') return 'The preview could not be started'
  if (state === 'starting' || ports.atRest) return 'The preview is starting'
  if (previewCommand === undefined) return 'The sandbox runs'
  if (state === 'exited') return `The command ended ${exitCode === null ? 'by a signal' : `with exit code ${exitCode}`}`
  if (isServed(ports)) return 'The preview runs'
  const { port } = previewCommand
  return port === undefined ? 'Nothing listens yet' : `Nothing listens on port ${port} yet`
}

import { useMutation } from '@tanstack/react-query'
import { LoaderCircle, Maximize2, Minimize2, RotateCw, Trash2 } from 'lucide-react'
import { useCallback, useRef, useState, useSyncExternalStore } from 'react'
import { call } from '../api/client.ts'
import { problemOf } from '../api/problem.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { TerminalConnection, type TerminalState } from './connection.ts'
import { Emulator } from './emulator.ts'
import { endings } from './endings.ts'
import { KeyRow } from './key-row.tsx'
import { LinkQuestion } from './link-question.tsx'
import { rememberedTerminal, rememberTerminal } from './remembered.ts'

interface Opened {
  readonly emulator: Emulator
  readonly connection: TerminalConnection
}

interface ViewProps {
  readonly sessionId: string
  /** The terminal is no more, and the person has seen that. */
  readonly onClose: () => void
}

/** A terminal, in the panel or over the whole window. */
export function TerminalView({ sessionId, onClose }: ViewProps) {
  const [opened, setOpened] = useState<Opened | null>(null)
  const [round, setRound] = useState(0)
  const [isLarge, setLarge] = useState(false)
  const [link, setLink] = useState<string | null>(null)
  const bar = useRef<HTMLDivElement>(null)
  const attach = useCallback(
    (parent: HTMLDivElement) => {
      let connection: TerminalConnection | null = null
      const emulator = new Emulator(parent, {
        typed: bytes => connection?.type(bytes),
        resized: (columns, rows) => connection?.resize(columns, rows),
        linked: setLink,
        left: () => bar.current?.querySelector<HTMLElement>('button')?.focus(),
      })
      connection = new TerminalConnection(sessionId, emulator)
      emulator.focus()
      setOpened({ emulator, connection })
      return () => {
        connection.leave()
        emulator.dispose()
      }
    },
    [sessionId],
  )
  const end = useMutation({
    mutationFn: async () => {
      const id = rememberedTerminal(sessionId)
      if (id !== null) await call('DELETE', `terminals/${id}`)
    },
    onSettled: () => {
      rememberTerminal(sessionId, null)
      onClose()
    },
  })
  return (
    <div className={isLarge ? 'fixed inset-0 z-40 flex flex-col bg-canvas' : 'flex h-full min-h-0 flex-col'}>
      <div ref={bar} className="flex h-10 shrink-0 items-center gap-2 border-b border-line pr-2 pl-3">
        {opened === null ? null : <StateNotice connection={opened.connection} />}
        <div className="ml-auto flex items-center gap-1">
          <IconButton label={isLarge ? 'Back to the panel' : 'Full window'} onClick={() => setLarge(!isLarge)}>
            {isLarge ? <Minimize2 className="size-4" aria-hidden /> : <Maximize2 className="size-4" aria-hidden />}
          </IconButton>
          <IconButton label="End the terminal" disabled={end.isPending} onClick={() => end.mutate()}>
            <Trash2 className="size-4" aria-hidden />
          </IconButton>
        </div>
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys of the shell must not reach the page's shortcuts */}
      <div
        key={round}
        ref={attach}
        className="min-h-0 flex-1 overflow-hidden bg-canvas py-2 pl-3 font-mono"
        onKeyDown={event => event.nativeEvent.stopPropagation()}
      />
      {opened !== null && (
        <Ended connection={opened.connection} onAgain={() => setRound(round + 1)} onClose={onClose} />
      )}
      {link !== null && <LinkQuestion url={link} onClose={() => setLink(null)} />}
      {opened !== null && <KeyRow emulator={opened.emulator} />}
      <p className="hidden shrink-0 border-t border-line px-3 py-1.5 text-xs text-ink-3 lg:block">
        <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>↑</kbd> leaves the terminal by keyboard. Select text and press{' '}
        <kbd>Ctrl</kbd> <kbd>C</kbd> to copy.
      </p>
    </div>
  )
}

const useTerminalState = (connection: TerminalConnection): TerminalState =>
  useSyncExternalStore(
    listener => connection.subscribe(listener),
    () => connection.state,
  )

const labels: Readonly<Record<TerminalState['kind'], string>> = {
  connecting: 'Connecting…',
  open: 'Connected',
  reconnecting: 'Reconnecting…',
  ended: 'Ended',
  refused: 'Not opened',
}

function StateNotice({ connection }: { connection: TerminalConnection }) {
  const { kind } = useTerminalState(connection)
  const isWaiting = kind === 'connecting' || kind === 'reconnecting'
  return (
    <span role="status" className="inline-flex items-center gap-2 text-xs text-ink-2">
      {isWaiting ? (
        <LoaderCircle className="size-3.5 animate-spin" aria-hidden />
      ) : (
        <span aria-hidden className={`size-2 rounded-full ${kind === 'open' ? 'bg-dot-good' : 'bg-dot-quiet'}`} />
      )}
      {labels[kind]}
    </span>
  )
}

/** Says why a terminal is gone, and offers a way on. */
function Ended({
  connection,
  onAgain,
  onClose,
}: {
  connection: TerminalConnection
  onAgain: () => void
  onClose: () => void
}) {
  const state = useTerminalState(connection)
  if (state.kind !== 'ended' && state.kind !== 'refused') return null
  const ending = state.kind === 'ended' ? endings[state.reason] : null
  const problem = state.kind === 'refused' ? problemOf(state.error) : null
  const code =
    state.kind === 'ended' && state.code !== null && state.code !== 0 ? ` Its exit code is ${state.code}.` : ''
  return (
    <div
      role="alert"
      className="flex shrink-0 flex-wrap items-center gap-3 border-t border-line bg-surface px-3 py-2.5 text-[0.8125rem]"
    >
      <p className="min-w-0 flex-1">
        {problem === null ? `${ending?.text ?? ''}${code}` : `${problem.title}. ${problem.advice}`}
      </p>
      {ending?.again === undefined ? (
        <Button onClick={onClose}>Close</Button>
      ) : (
        <Button onClick={onAgain}>
          <RotateCw className="size-3.5" aria-hidden /> {ending.again}
        </Button>
      )}
    </div>
  )
}

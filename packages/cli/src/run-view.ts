import type { Event, Preview, Session } from '@berth/client'
import type { CommandIo } from './io.ts'
import { LiveTerminal } from './live-terminal.ts'
import { liveStateOf, showCancelling, showEvent, showPreview, showStatus } from './live-view.ts'
import { plainLine } from './plain-line.ts'
import { jsonLine, printableLine } from './terminal-text.ts'

/** Shows a Run while it happens. */
export interface RunView extends AsyncDisposable {
  event(event: Event): Promise<void>
  /** Takes the message that the agent is writing; absent if the view shows lasting lines alone. */
  readonly preview?: (preview: Preview) => void
  /** Shows a message about the connection or the command; it is not part of the log. */
  notice(text: string): Promise<void>
  cancelling(): Promise<void>
}

export type RunViewOutputs = Pick<CommandIo, 'stdout' | 'stderr' | 'clock'>

/**
 * Opens a view: JSON if asked for, a live one in a terminal, and otherwise one plain line per Event.
 * @param session its to-do list and commands in the background before the Run's first Event
 */
export function openRunView(
  outputs: RunViewOutputs,
  json: boolean,
  session: Pick<Session, 'plan' | 'background'>,
): RunView {
  return outputs.stdout.isTerminal && !json
    ? liveRunView(outputs, session)
    : lineRunView(outputs, json ? jsonLine : plainLine)
}

function lineRunView({ stdout, stderr }: RunViewOutputs, format: (event: Event) => string): RunView {
  const notice = (text: string) => stderr.line(`berth: ${printableLine(text)}`)
  return {
    event: event => stdout.line(format(event)),
    notice,
    cancelling: () => notice('cancelling; interrupt again to exit without waiting'),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

const frameMs = 100

function liveRunView({ stdout, clock }: RunViewOutputs, session: Pick<Session, 'plan' | 'background'>): RunView {
  const terminal = new LiveTerminal(stdout)
  let state = liveStateOf(session)
  let frame = 0
  const status = () => showStatus(state, { frame, columns: stdout.columns, now: clock.now() }, stdout.paint)
  const notice = (text: string) => terminal.show([stdout.paint('yellow', printableLine(text))], status())
  // A tick only redraws the spinner, so it may be dropped if the terminal is slow.
  let drawing = false
  const timer = setInterval(() => {
    if (drawing) return
    drawing = true
    frame++
    terminal.show([], status()).then(
      () => {
        drawing = false
      },
      () => {},
    )
  }, frameMs)
  timer.unref()
  return {
    event(event) {
      const shown = showEvent(state, event, stdout.paint)
      state = shown.state
      return terminal.show(shown.lines, status())
    },
    // The next frame draws it.
    preview(preview) {
      state = showPreview(state, preview)
    },
    notice,
    cancelling() {
      state = showCancelling(state)
      return notice('cancelling; press Ctrl-C again to exit without waiting')
    },
    [Symbol.asyncDispose]() {
      clearInterval(timer)
      return terminal.show([], [])
    },
  }
}

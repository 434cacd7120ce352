import { randomUUID } from 'node:crypto'
import {
  BerthError,
  type Event,
  followPreviews,
  followSession,
  type Interaction,
  isTerminalRunEvent,
  type Session,
} from '@berth/client'
import { textOf } from '@berth/client/transcript'
import { noticeOf, paceOf } from '../commands/interruption-notice.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { explain } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { countdown } from '../service-clock.ts'
import { clip, printableLine } from '../terminal-text.ts'
import { AttachScreen } from './attach-screen.ts'
import { NextMessage } from './next-message.ts'
import { type Prompt, promptOf } from './prompts.ts'
import { resolutionText, SessionView } from './session-view.ts'

/** The Interaction that the person is asked about. */
interface Open {
  readonly interaction: Interaction
  readonly prompt: Prompt
}

/** Shows a Session live in a terminal until the person leaves it. */
export async function attachLive(session: Session, after: number, io: CommandIo): Promise<ExitCode> {
  await using attached = new AttachedSession(session, io)
  return await attached.run(after)
}

class AttachedSession implements AsyncDisposable {
  readonly #session: Session
  readonly #io: CommandIo
  readonly #view: SessionView
  readonly #screen: AttachScreen
  readonly #left = new AbortController()
  /** Open Interactions, oldest first; the first is asked. */
  #waiting: readonly Interaction[] = []
  #open: Open | null = null
  /** Interactions whose opening has been shown. */
  readonly #opened = new Set<string>()
  /** The newest Event that is shown, and the one that must be shown before anybody is asked: words come before their question. */
  #shown = 0
  #asksFrom = 0
  /** Interactions that were answered here: their end is no news. */
  readonly #answered = new Set<string>()
  /** A message that was begun before something was asked. */
  #draft = ''
  /** Whether the person is asked to stop the Run or leave it. */
  #isLeaving = false
  #kept = ''
  #listing: Promise<void> = Promise.resolve()
  #sending: Promise<void> = Promise.resolve()
  /** Messages that wait are of people: an API key has none. */
  readonly #next: NextMessage | null

  constructor(session: Session, io: CommandIo) {
    this.#session = session
    this.#io = io
    this.#view = new SessionView(io.stdout.paint, session)
    this.#next = io.connection.origin.kind === 'profile' ? new NextMessage(io.client, session.id) : null
    this.#screen = new AttachScreen({
      stdin: io.stdin,
      stdout: io.stdout,
      status: frame => this.#status(frame),
      label: () => this.#label(),
      entered: text => this.#run(() => this.#entered(text)),
      pressed: key => this.#run(() => this.#pressed(key)),
    })
  }

  async run(after: number): Promise<ExitCode> {
    const { client, stdout } = this.#io
    const { id, title, lastEventSequence, activeRunId } = this.#session
    await this.#screen.show([
      `${stdout.paint('bold', printableLine(title))} ${stdout.paint('dim', printableLine(id))}`,
      stdout.paint('dim', 'What you type goes to the agent. Ctrl-C leaves, and the session stays.'),
      ...(after > 0 ? [stdout.paint('dim', `… ${after} earlier events: berth events ${printableLine(id)}`)] : []),
    ])
    this.#shown = after
    this.#view.begin(activeRunId !== undefined && after >= lastEventSequence)
    this.#run(() => this.#readNext())
    const previews = this.#followPreviews()
    const { signal } = this.#left
    const events = followSession({
      client,
      sessionId: id,
      after,
      signal,
      ...paceOf(stdout),
      onInterruption: interruption => {
        const notice = noticeOf(interruption)
        if (notice !== null) this.#run(() => this.#notice(notice))
      },
    })
    try {
      if (lastEventSequence === after) await this.#list()
      for await (const event of events) await this.#event(event)
    } finally {
      this.#left.abort()
      await previews
    }
    return exitCode.completed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#left.abort()
    await this.#screen[Symbol.asyncDispose]()
  }

  #status(frame: number): readonly string[] {
    const { stdout, clock } = this.#io
    const next = this.#next?.line ?? null
    const shown = next === null ? [] : [stdout.paint('dim', clip(next, stdout.columns - 1))]
    return [...this.#view.status({ frame, columns: stdout.columns, now: clock.now() }), ...shown, ...this.#timeLeft()]
  }

  /** Returns the time that is left to decide, by the service's clock. */
  #timeLeft(): readonly string[] {
    const { deadline } = this.#open?.interaction ?? {}
    if (deadline === undefined) return []
    const { stdout, clock } = this.#io
    const leftMs = Date.parse(deadline) - clock.now()
    if (leftMs <= 0) return [stdout.paint('red', 'time is up')]
    return [stdout.paint(leftMs < 60_000 ? 'red' : 'dim', `${countdown(leftMs)} left to decide`)]
  }

  async #event(event: Event): Promise<void> {
    this.#next?.event(event)
    await this.#screen.show(this.#view.event(event))
    this.#shown = event.sequence
    if (isTerminalRunEvent(event) && event.sequence >= this.#session.lastEventSequence)
      this.#run(() => this.#readNext())
    const isOld = event.sequence < this.#session.lastEventSequence
    if (event.type.startsWith('svc.interaction.')) await this.#interaction(event, isOld)
    // The log so far has been read: from here on, open Interactions count.
    if (event.sequence === this.#session.lastEventSequence) await this.#list()
    else if (event.sequence === this.#asksFrom) await this.#askNext()
    if (!this.#view.isBusy) this.#stay()
  }

  /** Reads the pending message, and gives one back that was refused. */
  async #readNext(): Promise<void> {
    const refused = (await this.#next?.read(this.#left.signal)) ?? null
    if (refused === null) return
    await this.#notice(`the message was not sent: ${refused}`)
    await this.#takeBack()
  }

  async #takeBack(): Promise<void> {
    if (this.#screen.editor.text !== '' || this.#open !== null) return
    const text = (await this.#next?.takeBack()) ?? null
    if (text !== null) this.#screen.editor.text = text
  }

  async #interaction(event: Event, isOld: boolean): Promise<void> {
    const id = textOf(event, 'interactionId')
    if (event.type === 'svc.interaction.opened') this.#opened.add(id)
    if (event.type !== 'svc.interaction.opened' && !this.#answered.has(id)) {
      const whose = this.#open?.interaction.id === id ? 'Somebody else was first' : 'Answered'
      const text =
        event.type === 'svc.interaction.expired' || isOld ? resolutionText(event) : `${whose}: ${resolutionText(event)}`
      await this.#screen.show([this.#io.stdout.paint('dim', `  ${text}`)])
    }
    if (!isOld) await this.#list()
  }

  /** Reads the open Interactions. Calls follow one another, so that an older answer never replaces a newer one. */
  #list(): Promise<void> {
    const { client } = this.#io
    this.#listing = this.#listing.then(async () => {
      try {
        const { interactions } = await client.call(
          'listInteractions',
          { sessionId: this.#session.id },
          { signal: this.#left.signal },
        )
        if (interactions.some(({ id }) => !this.#opened.has(id))) {
          const { session } = await client.call(
            'getSession',
            { sessionId: this.#session.id },
            { signal: this.#left.signal },
          )
          this.#asksFrom = session.lastEventSequence
        }
        this.#waiting = interactions.filter(({ id }) => !this.#answered.has(id))
        await this.#askNext()
      } catch (failure) {
        if (!this.#left.signal.aborted) await this.#fail(failure)
      }
    })
    return this.#listing
  }

  async #askNext(): Promise<void> {
    const [oldest] = this.#waiting
    if (this.#open !== null && oldest?.id === this.#open.interaction.id) return
    const first = this.#shown < this.#asksFrom ? undefined : oldest
    const { editor } = this.#screen
    if (this.#open === null) {
      if (first !== undefined) this.#draft = editor.text
    } else editor.text = ''
    if (first === undefined) {
      if (this.#open !== null) editor.text = this.#draft
      this.#open = null
      return
    }
    editor.text = ''
    this.#open = { interaction: first, prompt: promptOf(first) }
    await this.#screen.show(['', ...this.#open.prompt.lines(this.#io.stdout.paint)])
  }

  #label(): string {
    if (this.#isLeaving) return 'Leave? Enter leaves and lets the run go on · s stops the run · Esc stays ›'
    return this.#open?.prompt.label ?? '›'
  }

  async #pressed(key: 'interrupt' | 'end' | 'escape'): Promise<void> {
    if (key === 'escape' && !this.#isLeaving) await this.#takeBack()
    else if (key === 'escape') this.#stay()
    else if (key === 'end' || this.#isLeaving || !this.#view.isBusy) await this.#leave()
    else {
      this.#isLeaving = true
      this.#kept = this.#screen.editor.text
      this.#screen.editor.text = ''
    }
  }

  /** Restores the input from before the person was asked whether to leave. */
  #stay(): void {
    if (!this.#isLeaving) return
    this.#isLeaving = false
    this.#screen.editor.text = this.#kept
  }

  async #entered(text: string): Promise<void> {
    if (this.#isLeaving) {
      const choice = text.trim().toLowerCase()
      this.#stay()
      if (choice === '') await this.#leave()
      else if (choice === 's') await this.#stop()
    } else if (this.#open !== null) await this.#answer(this.#open, text)
    else if (text.trim() !== '') await this.#send(text)
  }

  /** Messages follow one another: of two that were typed quickly, the service would else take either first. */
  #send(text: string): Promise<void> {
    const sent = this.#sending.then(() => this.#sendNow(text))
    this.#sending = sent.catch(() => {})
    return sent
  }

  async #sendNow(text: string): Promise<void> {
    try {
      await this.#io.client.call('submitTurn', {
        sessionId: this.#session.id,
        turnId: randomUUID(),
        body: { message: text },
      })
    } catch (failure) {
      const isBusy = failure instanceof BerthError && failure.code === 'cloud_run_in_progress'
      if (isBusy && this.#next !== null) return this.#leaveNext(text, this.#next)
      this.#giveBack(text)
      await (isBusy
        ? this.#notice('a run goes on; send it when the run has ended, or stop the run with Ctrl-C')
        : this.#fail(failure))
    }
  }

  /** Leaves the message for the end of the Run. */
  async #leaveNext(text: string, next: NextMessage): Promise<void> {
    try {
      await next.leave(text)
    } catch (failure) {
      this.#giveBack(text)
      const isTaken = failure instanceof BerthError && failure.code === 'cloud_next_turn_conflict'
      await (isTaken ? this.#notice('somebody else’s message waits already; send yours after it') : this.#fail(failure))
      await next.read(this.#left.signal)
    }
  }

  #giveBack(text: string): void {
    if (this.#screen.editor.text === '') this.#screen.editor.text = text
  }

  async #answer(open: Open, text: string): Promise<void> {
    const { client, stdout } = this.#io
    const reply = open.prompt.answer(text)
    if (reply.kind === 'fault') return this.#notice(reply.text)
    if (text.trim() !== '') await this.#screen.show([stdout.paint('bold', `› ${printableLine(text.trim())}`)])
    if (reply.kind === 'next') return this.#screen.show(open.prompt.lines(stdout.paint))
    const { id, request } = open.interaction
    this.#answered.add(id)
    this.#waiting = this.#waiting.filter(each => each.id !== id)
    try {
      if (reply.kind === 'decide') {
        const requestId = request.approval?.requestId ?? ''
        await client.call('decideInteraction', {
          sessionId: this.#session.id,
          interactionId: id,
          body: {
            requestId,
            choice: reply.choice,
            idempotencyKey: randomUUID(),
          },
        })
      } else
        await client.call('submitTurn', {
          sessionId: this.#session.id,
          turnId: randomUUID(),
          body: {
            message: reply.message,
            replyTo: { interactionId: id },
          },
        })
    } catch (failure) {
      this.#answered.delete(id)
      const lost = lostTo(failure)
      await (lost === null ? this.#fail(failure) : this.#notice(lost))
      // An answer that was refused is asked for again, if the question is still open.
      this.#open = null
    }
    await this.#list()
  }

  async #stop(): Promise<void> {
    const { client } = this.#io
    try {
      const { session } = await client.call('getSession', { sessionId: this.#session.id })
      if (session.activeRunId === undefined) return
      this.#view.cancelling()
      // Drawn now: the Run may end before the next frame.
      await this.#screen.show([])
      await client.call('cancelRun', { sessionId: session.id, runId: session.activeRunId })
    } catch (failure) {
      await this.#fail(failure)
    }
  }

  async #leave(): Promise<void> {
    if (this.#left.signal.aborted) return
    const id = printableLine(this.#session.id)
    const text = this.#view.isBusy
      ? `left; the run goes on: berth attach ${id}`
      : `left; return with berth attach ${id}`
    await this.#screen.show([this.#io.stdout.paint('dim', text)])
    this.#left.abort()
  }

  async #followPreviews(): Promise<void> {
    const { client, stdout } = this.#io
    try {
      for await (const preview of followPreviews(client, this.#session.id, this.#left.signal, paceOf(stdout))) {
        this.#view.preview(preview)
      }
    } catch {
      // The log tells the same a little later.
    }
  }

  #fail(failure: unknown): Promise<void> {
    return this.#notice(explain(failure, this.#io.connection).line)
  }

  #notice(text: string): Promise<void> {
    return this.#screen.show([this.#io.stdout.paint('yellow', printableLine(text))])
  }

  /** Does the work of a key, concurrently with the log. */
  #run(work: () => Promise<void>): void {
    work().catch(failure => this.#fail(failure).catch(() => {}))
  }
}

/** Says who was quicker, if that is why an answer was refused. */
function lostTo(failure: unknown): string | null {
  if (!(failure instanceof BerthError) || failure.code !== 'cloud_interaction_conflict') return null
  const choice: unknown = Reflect.get(Object(failure.fields.outcome), 'choice')
  if (choice === 'deny') return 'somebody else was first, and has denied it'
  return typeof choice === 'string' ? 'somebody else was first, and has allowed it' : 'this is no longer open'
}

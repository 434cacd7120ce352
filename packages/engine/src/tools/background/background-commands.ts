import { BackgroundCommand, type BackgroundStatus } from './background-command.ts'
import type { BackgroundPast, CommandEnd } from './background-past.ts'
import { signalProcesses } from './marked-processes.ts'

/** Commands that run at once. */
const MAX_RUNNING = 8
/** Commands that are listed: those that run, and the last that have ended. */
const MAX_LISTED = 16
const MARK = 'BERTH_BACKGROUND'

/** A command as the client has it. */
export interface BackgroundView {
  readonly id: string
  readonly command: string
  readonly status: BackgroundStatus
  readonly startedAt: string
  readonly exitCode?: number
}

/** All that the conversation's file keeps of the commands. */
export interface BackgroundState extends BackgroundPast {
  readonly commands: readonly BackgroundView[]
}

/** Takes news of the commands. */
export interface BackgroundListener {
  keep(state: BackgroundState): void
  report(commands: readonly BackgroundView[]): void
}

/**
 * The commands of a conversation that go on while the agent works. They live as long as this process, which stands still
 * with its sandbox between two prompts.
 *
 * The model is told of each end that it did not see by a call of its own. An end counts as told only once the
 * conversation has the message, so neither a cancelled prompt nor a restart loses one.
 */
export class BackgroundCommands {
  readonly #cwd: string
  readonly #owner: string
  readonly #listener: BackgroundListener
  /** Resolves when nothing of an earlier process runs any more. */
  readonly #swept: Promise<void>
  #commands: BackgroundCommand[] = []
  #begun: number
  readonly #unreported = new Map<string, CommandEnd>()
  /** Ends of `#untold` that are in a message which the conversation does not have yet. */
  readonly #onTheWay = new Set<string>()

  /**
   * @param owner names the conversation in the commands' environment
   * @param past what an earlier process has left; its commands ended with it
   */
  constructor(cwd: string, owner: string, past: BackgroundPast, listener: BackgroundListener) {
    this.#cwd = cwd
    this.#owner = owner
    this.#listener = listener
    this.#begun = past.begun
    for (const end of past.unreported) this.#unreported.set(end.id, end)
    // An agent that was killed could not end them.
    this.#swept = this.#sweep()
  }

  /**
   * Starts a command.
   * @throws Error if too many run
   */
  async start(command: string): Promise<BackgroundCommand> {
    await this.#swept
    const running = this.#commands.filter(({ status }) => status === 'running')
    if (running.length >= MAX_RUNNING) {
      throw new Error(
        `${MAX_RUNNING} background commands run already; stop one first: ${running.map(({ id }) => id).join(', ')}.`,
      )
    }
    for (const earlier of this.#commands) earlier.forgetOutput()
    this.#begun += 1
    const id = `b${this.#begun}`
    const started = new BackgroundCommand(id, command, this.#cwd, [MARK, this.#markOf(id)])
    this.#commands.push(started)
    void started.ended.then(() => {
      this.#unreported.set(id, endOf(started))
      this.#notify()
    })
    this.#notify()
    return started
  }

  /** @throws Error if there is none of this id */
  find(id: string): BackgroundCommand {
    const found = this.#commands.find(command => command.id === id)
    if (found !== undefined) return found
    const ids = this.#commands.map(command => command.id).join(', ') || 'none'
    throw new Error(`There is no background command ${id}. Those that there are: ${ids}.`)
  }

  get list(): readonly BackgroundView[] {
    return this.#commands.map(viewOf)
  }

  /** Returns the ends that the model was not told of yet, for a message. */
  takeNotices(): readonly string[] {
    const ends = [...this.#unreported.values()].filter(({ id }) => !this.#onTheWay.has(id))
    for (const { id } of ends) this.#onTheWay.add(id)
    return ends.map(noticeOf)
  }

  /** The conversation has the message with the notices that were taken. */
  reported(): void {
    if (this.#onTheWay.size === 0) return
    for (const id of this.#onTheWay) this.#unreported.delete(id)
    this.#onTheWay.clear()
    this.#keep()
  }

  /** A message that the conversation does not have by now never joins it. */
  promptEnded(): void {
    this.#onTheWay.clear()
  }

  /** The model knows by a call of its own that a command has ended. */
  noted(id: string): void {
    this.#onTheWay.delete(id)
    if (this.#unreported.delete(id)) this.#keep()
  }

  /** Ends all of them with their processes. */
  async stop(): Promise<void> {
    await Promise.all(this.#commands.map(command => command.stop()))
    await this.#sweep()
  }

  async kill(): Promise<void> {
    await Promise.all(this.#commands.map(command => command.kill()))
    await this.#sweep()
  }

  #markOf(id: string): string {
    return id === '' ? `${this.#owner}/` : `${this.#owner}/${id}/`
  }

  /** Kills what any command has left, also one that is not listed any more. */
  async #sweep(): Promise<void> {
    if (this.#begun > 0) await signalProcesses(undefined, `${MARK}=${this.#markOf('')}`, 'SIGKILL')
  }

  #notify(): void {
    const ended = this.#commands.filter(({ status }) => status !== 'running')
    const forgotten = new Set(ended.slice(0, Math.max(0, this.#commands.length - MAX_LISTED)))
    this.#commands = this.#commands.filter(command => !forgotten.has(command))
    this.#keep()
    this.#listener.report(this.list)
  }

  #keep(): void {
    this.#listener.keep({ commands: this.list, begun: this.#begun, unreported: [...this.#unreported.values()] })
  }
}

function viewOf({ id, command, status, startedAt, exitCode }: BackgroundCommand): BackgroundView {
  return { id, command, status, startedAt: startedAt.toISOString(), ...(exitCode !== null && { exitCode }) }
}

function endOf({ id, command, status, exitCode }: BackgroundCommand): CommandEnd {
  return { id, command, status: status === 'stopped' ? status : 'exited', ...(exitCode !== null && { exitCode }) }
}

function noticeOf({ id, command, status, exitCode }: CommandEnd): string {
  const how = {
    gone: 'is gone: the sandbox was restarted',
    stopped: 'was stopped, and not by you',
    exited: exitCode === undefined ? 'was ended by a signal' : `has ended with exit code ${exitCode}`,
  }
  return `The background command ${id} ${how[status]}. It was: ${command}`
}

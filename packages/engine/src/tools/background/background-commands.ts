import { BackgroundCommand, type BackgroundStatus } from './background-command.ts'
import { signalProcesses } from './marked-processes.ts'

/** Commands that run at once. */
const MAX_RUNNING = 8
/** Commands that are listed: those that run, and the last that have ended. */
const MAX_LISTED = 16
const MARK = 'BERTH_BACKGROUND'

/** A command as the conversation's file and the client have it. */
export interface BackgroundView {
  readonly id: string
  readonly command: string
  readonly status: BackgroundStatus
  readonly startedAt: string
  readonly exitCode?: number
}

/**
 * The commands of a conversation that go on while the agent works. They live as long as this process, which stands still
 * with its sandbox between two prompts.
 */
export class BackgroundCommands {
  readonly #cwd: string
  readonly #owner: string
  readonly #changed: (commands: readonly BackgroundView[]) => void
  #commands: BackgroundCommand[] = []
  #begun: number
  readonly #notices = new Map<string, string>()

  /**
   * @param owner names the conversation in the commands' environment
   * @param lost commands of an earlier process; they ended with it
   */
  constructor(
    cwd: string,
    owner: string,
    lost: readonly BackgroundView[],
    changed: (commands: readonly BackgroundView[]) => void,
  ) {
    this.#cwd = cwd
    this.#owner = owner
    this.#changed = changed
    this.#begun = Math.max(0, ...lost.map(({ id }) => Number(id.slice(1)) || 0))
    for (const { id, command, status } of lost) {
      if (status !== 'running') continue
      this.#notices.set(id, `The background command ${id} is gone: the sandbox was restarted. It was: ${command}`)
      // An agent that was killed could not end them.
      void signalProcesses(undefined, this.#markOf(id).join('='), 'SIGKILL')
    }
  }

  /**
   * Starts a command.
   * @throws Error if too many run
   */
  start(command: string): BackgroundCommand {
    const running = this.#commands.filter(({ status }) => status === 'running')
    if (running.length >= MAX_RUNNING) {
      throw new Error(
        `${MAX_RUNNING} background commands run already; stop one first: ${running.map(({ id }) => id).join(', ')}.`,
      )
    }
    this.#begun += 1
    const id = `b${this.#begun}`
    const started = new BackgroundCommand(id, command, this.#cwd, this.#markOf(id))
    this.#commands.push(started)
    void started.ended.then(() => {
      if (started.status === 'exited') this.#notices.set(id, noticeOf(started))
      this.#tell()
    })
    this.#tell()
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

  /** Returns the ends that the model was not told of yet. */
  takeNotices(): readonly string[] {
    const notices = [...this.#notices.values()]
    this.#notices.clear()
    return notices
  }

  /** The model knows by a call of its own that a command has ended. */
  noted(id: string): void {
    this.#notices.delete(id)
  }

  /** Ends all of them with their processes. */
  async stop(): Promise<void> {
    await Promise.all(this.#commands.map(command => command.stop()))
  }

  async kill(): Promise<void> {
    await Promise.all(this.#commands.map(command => command.kill()))
  }

  #markOf(id: string) {
    return [MARK, `${this.#owner}/${id}`] as const
  }

  #tell(): void {
    const ended = this.#commands.filter(({ status }) => status !== 'running')
    const forgotten = new Set(ended.slice(0, Math.max(0, this.#commands.length - MAX_LISTED)))
    this.#commands = this.#commands.filter(command => !forgotten.has(command))
    this.#changed(this.list)
  }
}

function viewOf({ id, command, status, startedAt, exitCode }: BackgroundCommand): BackgroundView {
  return { id, command, status, startedAt: startedAt.toISOString(), ...(exitCode !== null && { exitCode }) }
}

function noticeOf({ id, command, exitCode }: BackgroundCommand): string {
  const how = exitCode === null ? 'was ended by a signal' : `has ended with exit code ${exitCode}`
  return `The background command ${id} ${how}. It was: ${command}`
}

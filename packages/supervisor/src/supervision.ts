import { existsSync, readdirSync } from 'node:fs'
import type { Server, Socket } from 'node:net'
import type { AgentProcess } from './agent-process.ts'
import { Attachment, type AttachmentHost, type Command, type Hello } from './attachment.ts'
import { encodeRecord, type Journal } from './journal.ts'
import { PreparedAgent } from './prepared-agent.ts'
import { isAlone } from './process-tree.ts'
import type { ParkAnswer, ParkOrder, PrepareOrder, RetireAnswer, RetireOrder, SupervisorGreeting } from './protocol.ts'
import { refuseStart, type StartOrder, startAgent } from './start-agent.ts'
import type { TerminalOrder } from './terminals/protocol.ts'
import { Terminals } from './terminals/terminals.ts'

const SHARED_MEMORY = '/dev/shm'

/**
 * Connects workers with the one agent of this sandbox.
 *
 * At most one attachment counts: the newest whose fence token is not below the highest ever seen. Taking over and
 * executing commands happen in one thread, so after a worker's welcome no earlier worker's command reaches the agent.
 *
 * Keys are kept in memory only, because only this process writes the journal and the journal dies with it. If a supervisor takes
 * the place of a parked one, it reads the keys of the records that no worker has committed.
 */
export class Supervision implements AttachmentHost {
  readonly #journal: Journal
  readonly #keys: Set<string>
  readonly #terminals = new Terminals()
  readonly #prepared = new PreparedAgent()
  #fence: number
  #current: Attachment | undefined
  #agent: AgentProcess | undefined
  /** Lines for an agent that is being retired; undefined if none is. */
  #held: { readonly key: string; readonly line: string }[] | undefined
  #onRetired: (() => void)[] = []
  #parking = false

  /** @param fence the highest token that a supervisor before this one has seen */
  constructor(journal: Journal, server: Server, fence = 0) {
    this.#journal = journal
    this.#fence = fence
    this.#keys = journal.keys()
    journal.onGrowth = () => this.#current?.pump()
    journal.onSeal = seal => this.#agent?.sealed(seal)
    server.on('connection', socket => {
      if (this.#parking) socket.destroy()
      else new Attachment(socket, journal, this)
    })
  }

  greet(hello: Hello, attachment: Attachment): SupervisorGreeting {
    if (hello.fence < this.#fence) return { refused: { fence: this.#fence } }
    this.#fence = hello.fence
    this.#current?.close()
    this.#current = undefined
    if (!this.#journal.isBoundary(hello.from)) return { invalid: { size: this.#journal.size } }
    this.#current = attachment
    this.#acknowledge(hello.from, hello.from)
    return { welcome: { fence: hello.fence, size: this.#journal.size } }
  }

  closed(attachment: Attachment): void {
    if (this.#current === attachment) this.#current = undefined
  }

  command(command: Command, attachment: Attachment): void {
    if (this.#current !== attachment) return
    if ('ack' in command) this.#acknowledge(command.ack, Math.min(command.keep ?? 0, attachment.position))
    else if ('start' in command) this.#once(command.start.key, () => this.#start(command.start))
    else if ('in' in command) this.#once(command.in.key, () => this.#give(command.in.key, command.in.line))
    else this.#once(command.stop.key, () => this.#stop(command.stop.key, command.stop.graceMs))
  }

  terminal(order: TerminalOrder, socket: Socket): void {
    // It may have connected before. A shell that started now would end with the sandbox.
    if (this.#parking) socket.destroy()
    else this.#terminals.take(order, socket)
  }

  prepare(order: PrepareOrder, socket: Socket): void {
    this.#prepared.take(order, socket)
  }

  retire({ fence, graceMs }: RetireOrder, socket: Socket): void {
    const answer = (retired: RetireAnswer['retired']) => {
      socket.end(`${JSON.stringify({ retired } satisfies RetireAnswer)}\n`)
    }
    if (fence < this.#fence) answer('refused')
    else if (this.#agent === undefined) answer('ended')
    else if (this.#agent.hasOthers) answer('kept')
    else {
      this.#held ??= []
      this.#onRetired.push(() => answer('ended'))
      this.#agent.stop(graceMs)
    }
  }

  park({ fence }: ParkOrder, socket: Socket): void {
    const answer = (resume: ParkAnswer['resume']) => `${JSON.stringify({ resume } satisfies ParkAnswer)}\n`
    const isIdle =
      fence >= this.#fence && !this.#parking && this.#agent === undefined && this.#journal.seal === undefined
    if (!isIdle || !this.#terminals.areNone || !isAlone() || hasSharedMemory()) {
      socket.end(answer(null))
      return
    }
    this.#parking = true
    socket.once('close', () => {
      this.#parking = false
    })
    socket.write(answer({ ...this.#journal.place, fence: this.#fence }))
    socket.resume()
  }

  #once(key: string, act: () => void): void {
    if (this.#keys.has(key)) return
    this.#keys.add(key)
    act()
  }

  #acknowledge(offset: number, keep: number): void {
    this.#journal.acknowledge(offset)
    this.#journal.forget(keep)
    this.#agent?.resume()
  }

  #start(start: StartOrder): void {
    if (this.#agent) {
      refuseStart(this.#journal, start.key, 'EBUSY', 'an agent is running')
      return
    }
    const agent = startAgent(this.#journal, start, this.#prepared.become(start))
    if (!agent) return
    this.#agent = agent
    agent.onEnd = () => {
      this.#agent = undefined
      for (const { key, line } of this.#held?.splice(0) ?? []) this.#journal.append(encodeRecord('i', key, ' ', line))
      this.#held = undefined
      for (const retired of this.#onRetired.splice(0)) retired()
    }
  }

  /** Journals the line first, so that every line the agent may have seen is in the journal. */
  #give(key: string, line: string): void {
    if (this.#held !== undefined) this.#held.push({ key, line })
    else if (this.#journal.append(encodeRecord('i', key, ' ', line))) this.#agent?.write(line)
  }

  /** Stops the agent even if the journal is sealed; only the `k` record is lost then. */
  #stop(key: string, graceMs: number): void {
    this.#journal.append(encodeRecord('k', key, ' '))
    this.#agent?.stop(graceMs)
  }
}

/** Files in memory would be lost with the sandbox, whoever has made them. */
function hasSharedMemory(): boolean {
  return existsSync(SHARED_MEMORY) && readdirSync(SHARED_MEMORY).length > 0
}

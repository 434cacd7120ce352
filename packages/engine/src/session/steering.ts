import type { UserMessage } from '@earendil-works/pi-ai'
import type { AgentSession, SessionEntry } from '@earendil-works/pi-coding-agent'
import type { PromptInput } from './prompt-text.ts'

/** A message that joined the work of a prompt, as the conversation's file keeps it. */
interface SteeringMessage extends UserMessage {
  readonly steering: string
}

interface Waiting {
  readonly message: SteeringMessage
  readonly settle: (taken: boolean) => void
}

/**
 * Messages that join the work under way: each enters the conversation after the current step's tool results, in the order
 * in which they came.
 *
 * The message itself keeps its id, in one line of the conversation's file, so a process that loads the conversation knows
 * which messages it has.
 */
export class Steering {
  #agent: AgentSession | null = null
  #waiting: Waiting[] = []

  /** Adds a message. @returns true once the conversation has it, false if the prompt ends before */
  add(id: string, { text, images }: PromptInput): Promise<boolean> {
    const content = [{ type: 'text' as const, text }, ...images]
    const message: SteeringMessage = { role: 'user', content, timestamp: Date.now(), steering: id }
    return new Promise(settle => {
      this.#waiting.push({ message, settle })
      this.#agent?.agent.steer(message)
    })
  }

  /** Gives the messages to the agent that is about to work on the prompt. */
  open(agent: AgentSession): void {
    this.#agent = agent
    agent.agent.steeringMode = 'all'
    for (const { message } of this.#waiting) agent.agent.steer(message)
  }

  /** Learns that the conversation has a message. */
  entered(message: object): void {
    const id = steeringOf(message)
    const waiting = this.#waiting.find(({ message }) => message.steering === id)
    if (waiting === undefined) return
    this.#waiting = this.#waiting.filter(other => other !== waiting)
    waiting.settle(true)
  }

  /** The prompt has ended: messages that have not joined it by now never do. */
  end(): void {
    this.#agent?.agent.clearSteeringQueue()
    this.#agent = null
    for (const { settle } of this.#waiting.splice(0)) settle(false)
  }
}

/** Returns true if a conversation has the message of this id. */
export const hasSteered = (branch: readonly SessionEntry[], id: string): boolean =>
  branch.some(entry => entry.type === 'message' && steeringOf(entry.message) === id)

const steeringOf = (message: object): unknown => ('steering' in message ? message.steering : undefined)

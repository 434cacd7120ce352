import type { Duplex } from 'node:stream'
import type { WorkerMessage } from '@berth/supervisor'

/** A message of the agent's protocol. */
type Message = { readonly id?: unknown; readonly method?: string; readonly params?: unknown }

/** A prompt that a scripted agent has got, with its possible answers. */
export interface Prompt {
  readonly text: string
  /** Writes a text of the agent into the journal. */
  write(text: string): void
  /** Makes a call of a tool that succeeds. */
  act(title: string): void
  /** Answers the prompt. */
  answer(): void
  /** Writes a line of the agent into the journal, whatever it is. */
  out(message: object): void
  /** Writes a record into the journal, whatever it is. */
  record(type: string, rest: string): void
  /** The id of the agent's session. */
  readonly agentSession: string
  /** The id of the request. */
  readonly id: unknown
}

/**
 * A sandbox that is not there: a supervisor with its journal in memory, whose agent obeys a test. It keeps the
 * supervisor's rules, so only the test makes faults.
 */
export class ScriptedSandbox {
  readonly #prompted: (prompt: Prompt) => void
  readonly #keys = new Set<string>()
  readonly #attached = new Set<Duplex>()
  #journal = Buffer.alloc(0)
  #fence = 0
  #sessions = 0

  constructor(prompted: (prompt: Prompt) => void) {
    this.#prompted = prompted
  }

  /** The highest fence token of a worker that has attached. */
  get fence(): number {
    return this.#fence
  }

  /** Serves one connection of a worker. */
  attach(stream: Duplex): void {
    let rest = ''
    let greeted = false
    stream.on('error', () => undefined)
    stream.once('close', () => this.#attached.delete(stream))
    stream.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const message = JSON.parse(line) as WorkerMessage
        if (greeted) this.#take(message, stream)
        else greeted = this.#greet(message, stream)
      }
    })
  }

  #greet(message: WorkerMessage, stream: Duplex): boolean {
    if (!('hello' in message)) {
      stream.end('{"retired":"ended"}\n')
      return false
    }
    const { fence, from } = message.hello
    if (fence < this.#fence) {
      stream.end(`${JSON.stringify({ refused: { fence: this.#fence } })}\n`)
      return false
    }
    this.#fence = fence
    for (const other of this.#attached) other.destroy()
    this.#attached.add(stream)
    stream.write(`${JSON.stringify({ welcome: { fence, size: this.#journal.length } })}\n`)
    stream.write(this.#journal.subarray(from))
    return true
  }

  #take(message: WorkerMessage, stream: Duplex): void {
    if ('ping' in message) stream.write(`p ${message.ping}\n`)
    if ('start' in message && this.#isNew(message.start.key))
      this.#append('s', `${message.start.key} ${Date.now()} {"pid":7}`)
    if ('stop' in message && this.#isNew(message.stop.key)) {
      this.#append('k', `${message.stop.key} `)
      this.#append('x', `${Date.now()} {"code":null,"signal":"SIGTERM"}`)
    }
    if ('in' in message && this.#isNew(message.in.key)) {
      this.#append('i', `${message.in.key} ${message.in.line}`)
      this.#answer(JSON.parse(message.in.line) as Message)
    }
  }

  #answer({ id, method, params }: Message): void {
    const out = (body: object) => this.#append('o', `${Date.now()} ${JSON.stringify({ jsonrpc: '2.0', ...body })}`)
    if (method === 'initialize') {
      out({ id, result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [] } })
    } else if (method === 'session/new') {
      this.#sessions += 1
      out({ id, result: { sessionId: `agent-${this.#sessions}` } })
    } else if (method === 'session/prompt') {
      const { sessionId, prompt } = params as { sessionId: string; prompt: readonly { text?: string }[] }
      const update = (content: object) => out({ method: 'session/update', params: { sessionId, update: content } })
      this.#prompted({
        ...{ id, out, agentSession: sessionId, text: prompt.map(({ text }) => text ?? '').join('') },
        write: text => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }),
        act: title => {
          const call = { toolCallId: title, title, kind: 'execute' }
          update({ sessionUpdate: 'tool_call', ...call, status: 'in_progress' })
          update({ sessionUpdate: 'tool_call_update', ...call, status: 'completed' })
        },
        answer: () => out({ id, result: { stopReason: 'end_turn' } }),
        record: (type, rest) => this.#append(type, rest),
      })
    } else if (id !== undefined) out({ id, result: {} })
  }

  #isNew(key: string): boolean {
    if (this.#keys.has(key)) return false
    this.#keys.add(key)
    return true
  }

  #append(type: string, rest: string): void {
    const record = Buffer.from(`${type} ${rest}\n`)
    this.#journal = Buffer.concat([this.#journal, record])
    for (const stream of this.#attached) stream.write(record)
  }
}

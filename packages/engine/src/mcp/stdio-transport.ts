import { type ChildProcess, spawn } from 'node:child_process'
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'

/** Longest message that a server may send. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** Most output that is not a message. Servers log to stdout by mistake, and some never stop. */
const MAX_RUBBISH_BYTES = 1024 * 1024
/** Length kept from the end of stderr, to explain why the server ended. */
const MAX_COMPLAINTS = 500
/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 300
/** How long to read on after the process exits; a child that it left behind may keep its output open. */
const DRAIN_MS = 2000

/** How to start a server. */
export interface StdioServer {
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

/**
 * Runs a server as a process in its own group and exchanges one message per line with it. The whole group is killed
 * when the process exits, when the transport is closed, and when the output cannot be read.
 */
export class StdioTransport implements Transport {
  readonly #server: StdioServer
  #child: ChildProcess | null = null
  #line: Buffer[] = []
  #lineBytes = 0
  #rubbishBytes = 0
  #complaints = ''
  #fault = ''
  #over = false
  readonly #gone = Promise.withResolvers<void>()
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void

  constructor(server: StdioServer) {
    this.#server = server
  }

  /** How the server ended, in words; empty while it runs. */
  ending = ''

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#server
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child = child
    child.stdout.on('data', (chunk: Buffer) => this.#take(chunk))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#complaints = (this.#complaints + text).slice(-MAX_COMPLAINTS)
    })
    // A failed write needs no report of its own: the exit of the process explains it.
    child.stdin.on('error', () => undefined)
    child.once('exit', (code, signal) => {
      this.#kill('SIGKILL')
      const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
      const end = () =>
        this.#finish(this.#fault || `${how}${this.#complaints.trim() && `: ${this.#complaints.trim()}`}`)
      child.once('close', end)
      setTimeout(end, DRAIN_MS).unref()
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', (error: NodeJS.ErrnoException) => {
        this.#finish(`cannot be started: ${error.code === 'ENOENT' ? `${command} was not found` : error.message}`)
        reject(new Error(this.ending))
      })
    })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin
    if (this.#over || !stdin?.writable) throw new Error(this.ending || 'it is not running')
    await new Promise<void>(resolve => void stdin.write(serializeMessage(message), () => resolve()))
  }

  async close(): Promise<void> {
    if (this.#over) return
    this.#child?.stdin?.end()
    this.#kill('SIGTERM')
    const timer = setTimeout(() => this.#kill('SIGKILL'), GRACE_MS)
    await this.#gone.promise
    clearTimeout(timer)
  }

  #take(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(0x0a); at !== -1 && !this.#over; at = chunk.indexOf(0x0a, from)) {
      this.#line.push(chunk.subarray(from, at))
      from = at + 1
      const line = Buffer.concat(this.#line).toString('utf8')
      this.#line = []
      this.#lineBytes = 0
      this.#read(line)
    }
    this.#line.push(chunk.subarray(from))
    this.#lineBytes += chunk.length - from
    if (this.#lineBytes > MAX_MESSAGE_BYTES) this.#give('sent a message longer than 16 MiB')
  }

  #read(line: string): void {
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(JSON.parse(line))
    } catch {
      this.#rubbishBytes += line.length
      if (this.#rubbishBytes > MAX_RUBBISH_BYTES) this.#give('writes text to its output that is not MCP')
      return
    }
    this.onmessage?.(message)
  }

  /** Kills the server because of a fault in its output. */
  #give(fault: string): void {
    this.#fault ||= fault
    this.#line = []
    this.#lineBytes = 0
    this.#child?.stdout?.destroy()
    this.#kill('SIGKILL')
  }

  #kill(signal: NodeJS.Signals): void {
    try {
      if (this.#child?.pid !== undefined) process.kill(-this.#child.pid, signal)
    } catch {
      // The group is gone already.
    }
  }

  #finish(ending: string): void {
    if (this.#over) return
    this.#over = true
    this.ending = ending
    for (const stream of [this.#child?.stdin, this.#child?.stdout, this.#child?.stderr]) stream?.destroy()
    this.#gone.resolve()
    this.onclose?.()
  }
}

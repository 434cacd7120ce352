import { randomUUID } from 'node:crypto'
import { relative } from 'node:path'
import type { AgentContext, SessionUpdate, ToolCallUpdate } from '@agentclientprotocol/sdk'
import type { AssistantMessage } from '@earendil-works/pi-ai'
import type { AgentSessionEvent, SessionEntry } from '@earendil-works/pi-coding-agent'
import type { BackgroundView } from '../tools/background/background-commands.ts'
import type { TodoItem } from '../tools/todo.ts'
import { contentOf, type ToolView, viewOf } from './tool-view.ts'

/** An Event that ACP cannot express, with the data that the platform logs. */
export type BerthEvent =
  | { readonly type: 'context_compacted'; readonly data: { tokensBefore: number; tokensAfter: number } }
  | { readonly type: 'background_updated'; readonly data: { commands: readonly BackgroundView[] } }
  | { readonly type: 'conversation_cleared'; readonly data: Record<string, never> }
  | { readonly type: 'timeline_truncated'; readonly data: { droppedEvents: number; reason: string } }
  | {
      readonly type: 'delegation_started'
      readonly data: { delegationId: string; task: string; agent?: string }
    }
  | {
      readonly type: 'delegation_completed'
      readonly data: { delegationId: string; status: 'completed' | 'failed' | 'cancelled'; summary?: string }
    }

/**
 * Reports the agent's work to the client. A message and its calls take their ids from the time at which the message
 * began. The conversation's file keeps that time, so replaying a loaded conversation reports the same ids.
 */
export class Updates {
  readonly #client: AgentContext
  readonly #sessionId: string
  readonly #cwd: string
  readonly #foreign: (name: string) => Pick<ToolView, 'title' | 'kind'> | undefined
  readonly #delegationId: string | undefined
  #message = ''
  #gap = ''
  readonly #args = new Map<string, unknown>()
  #last: Promise<unknown> = Promise.resolve()

  /** @param foreign returns the title and kind of a server's tool; undefined for other tools */
  constructor(
    client: AgentContext,
    sessionId: string,
    cwd: string,
    foreign: (name: string) => Pick<ToolView, 'title' | 'kind'> | undefined,
    delegationId?: string,
  ) {
    this.#client = client
    this.#sessionId = sessionId
    this.#cwd = cwd
    this.#foreign = foreign
    this.#delegationId = delegationId
  }

  /** Returns the client's id for a call of the current message. */
  callId(toolCallId: string): string {
    return `${this.#message}-${toolCallId}`
  }

  /** Resolves when every report so far has been written. */
  get written(): Promise<unknown> {
    return this.#last
  }

  event(event: BerthEvent): void {
    this.#send('_berth/event', { sessionId: this.#sessionId, ...event })
  }

  text(text: string): void {
    this.#chunk('agent_message_chunk', text)
  }

  /** Reports a title for the conversation. */
  title(title: string): void {
    this.#update({ sessionUpdate: 'session_info_update', title })
  }

  /** Reports the to-do list, which ACP calls a plan. */
  plan(items: readonly TodoItem[]): void {
    this.#update({ sessionUpdate: 'plan', entries: items.map(item => ({ ...item, priority: 'medium' })) })
  }

  /** Reports files that the model got without a call of its own, as calls that have ended. */
  given(name: 'instructions' | 'attachment', paths: readonly string[]): void {
    for (const path of paths) {
      const toolCallId = `${name}-${randomUUID()}`
      const title = `read ${relative(this.#cwd, path)}`
      const call = { toolCallId, name, title, kind: 'read', status: 'in_progress' } as const
      this.#update({ sessionUpdate: 'tool_call', ...call, locations: [{ path }], ...this.#meta() })
      this.#update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', ...this.#meta() })
    }
  }

  /** Reports a server that cannot be used, as a failed tool call. */
  serverTrouble(server: string, reason: string): void {
    this.#trouble('mcp_server', `MCP server ${server}`, reason)
  }

  /** Reports a skill of the workspace that cannot be used, as a failed tool call. */
  skillTrouble(path: string, reason: string): void {
    this.#trouble('skill', `Skill ${path}`, reason)
  }

  /** Reports that the prompt ends because of a model fault, as a failed tool call in the gateway's words. */
  modelTrouble(reason: string): void {
    this.#trouble('model', 'Model', reason)
  }

  /** Reports an agent's events. For a sub-agent only its calls: its text goes to the agent that delegated to it. */
  follow(event: AgentSessionEvent): void {
    switch (event.type) {
      case 'message_start':
        if (event.message.role === 'assistant') this.#begin(event.message)
        break
      case 'message_update': {
        const { assistantMessageEvent: part } = event
        if (this.#delegationId !== undefined) break
        if (part.type === 'text_delta') this.#chunk('agent_message_chunk', part.delta)
        if (part.type === 'thinking_delta') this.#think(part.delta)
        break
      }
      case 'tool_execution_start':
        this.#callBegins(event.toolCallId, event.toolName, event.args)
        break
      case 'tool_execution_end':
        this.#callEnds(event.toolCallId, event.toolName, event.result, event.isError)
        break
      case 'compaction_end':
        if (event.result !== undefined && this.#delegationId === undefined) {
          const { tokensBefore, estimatedTokensAfter = 0 } = event.result
          this.event({ type: 'context_compacted', data: { tokensBefore, tokensAfter: estimatedTokensAfter } })
        }
        break
    }
  }

  /** Reports a loaded conversation again, in order and with the same ids. */
  replay(entries: readonly SessionEntry[]): void {
    const open = new Set<string>()
    for (const entry of entries) {
      if (entry.type !== 'message') continue
      const { message } = entry
      if (message.role === 'user') {
        const parts =
          typeof message.content === 'string' ? [{ type: 'text' as const, text: message.content }] : message.content
        for (const content of parts) {
          this.#update({ sessionUpdate: 'user_message_chunk', content, messageId: entry.id })
        }
      }
      if (message.role === 'assistant') {
        this.#begin(message)
        for (const part of message.content) {
          if (part.type === 'text') this.#chunk('agent_message_chunk', part.text)
          if (part.type === 'thinking' && part.redacted !== true) this.#chunk('agent_thought_chunk', part.thinking)
        }
        // The agent ran no call of a failed message, and began none of an aborted one.
        if (message.stopReason !== 'toolUse' && message.stopReason !== 'length') continue
        for (const part of message.content) {
          if (part.type !== 'toolCall') continue
          this.#callBegins(part.id, part.name, part.arguments)
          open.add(part.id)
        }
      }
      if (message.role === 'toolResult' && open.delete(message.toolCallId)) {
        this.#callEnds(message.toolCallId, message.toolName, message, message.isError)
      }
    }
    for (const id of open) this.#callEnds(id, '', { content: [{ type: 'text', text: 'interrupted' }] }, true)
  }

  /** Holds back whitespace between two parts of a thought until the second arrives, so none follows the last part. */
  #think(delta: string): void {
    const text = this.#gap + delta
    this.#gap = delta.trim() === '' ? text : ''
    if (this.#gap === '') this.#chunk('agent_thought_chunk', text)
  }

  #begin(message: AssistantMessage): void {
    this.#gap = ''
    this.#message = message.timestamp.toString(36)
  }

  #chunk(sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk', text: string): void {
    if (text === '') return
    const messageId = this.#message === '' ? {} : { messageId: this.#message }
    this.#update({ sessionUpdate, content: { type: 'text', text }, ...messageId })
  }

  #callBegins(id: string, name: string, args: unknown): void {
    const toolCallId = this.callId(id)
    this.#args.set(toolCallId, args)
    this.#update({
      sessionUpdate: 'tool_call',
      toolCallId,
      name,
      status: 'in_progress',
      rawInput: args,
      ...viewOf(name, args, this.#cwd, this.#foreign(name)),
      ...this.#meta(),
    })
  }

  #callEnds(id: string, name: string, result: Parameters<typeof contentOf>[2], isError: boolean): void {
    const toolCallId = this.callId(id)
    const content = contentOf(name, this.#args.get(toolCallId), result, isError, this.#cwd)
    this.#args.delete(toolCallId)
    const update: ToolCallUpdate = { toolCallId, status: isError ? 'failed' : 'completed', content }
    this.#update({ sessionUpdate: 'tool_call_update', ...update, ...this.#meta() })
  }

  #meta() {
    return this.#delegationId === undefined ? {} : { _meta: { berth: { delegationId: this.#delegationId } } }
  }

  #trouble(name: string, title: string, reason: string): void {
    const toolCallId = `${name}-${randomUUID()}`
    this.#update({ sessionUpdate: 'tool_call', toolCallId, name, title, kind: 'other', status: 'in_progress' })
    const content = [{ type: 'content' as const, content: { type: 'text' as const, text: `${title}: ${reason}` } }]
    this.#update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'failed', content })
  }

  #update(update: SessionUpdate): void {
    this.#send('session/update', { sessionId: this.#sessionId, update })
  }

  #send(method: string, params: unknown): void {
    // If the client is gone, this process ends; there is nothing else to do here.
    this.#last = this.#client.notify(method, params).catch(() => undefined)
  }
}

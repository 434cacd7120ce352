import type { BerthClient } from '@berth/client'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { type Static, type TObject, Type } from 'typebox'
import { printable } from './text.ts'

/** On whose behalf tools act. */
export interface ToolCaller {
  readonly client: BerthClient
  /** Whether the credential is a person's: people work on the repositories of their organization. */
  readonly isPerson: boolean
  /** Aborted when the service stops; calls that wait then answer at once. */
  readonly stopping?: AbortSignal
}

/** One call of a tool. */
export interface ToolCall extends ToolCaller {
  /** Aborted when the client cancels the call or leaves. Work that the call has begun at the service goes on. */
  readonly signal: AbortSignal
  /** Tells the client of progress, if it asked for that. */
  progress(message: string): Promise<void>
}

/** The answer of a tool: text for a model, and the same as data. */
export interface ToolAnswer<Data = Readonly<Record<string, unknown>>> {
  readonly text: string
  readonly data: Data
}

/** One tool, as a model sees it. */
export interface Tool<Input extends TObject = TObject, Output extends TObject = TObject> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  /** The schema of its answers' data. An answer may have more fields than it declares. */
  readonly output: Output
  /** Whether the tool only reads. */
  readonly reads?: true
  /** Whether a repeated call with the same arguments changes nothing more. */
  readonly repeatable?: true
  run(args: Static<Input>, call: ToolCall): Promise<ToolAnswer<Static<Output>>>
}

/** Makes a tool whose arguments and answers are typed by its schemas. */
export const tool = <Input extends TObject, Output extends TObject>(made: Tool<Input, Output>): Tool =>
  made as unknown as Tool

/** Text, or null where there is none. */
export const orNull = (description?: string) =>
  Type.Union([Type.String(), Type.Null()], description === undefined ? {} : { description })

/** `nextCursor` of a page. */
export const nextCursor = () => orNull('Cursor of the next page; null after the last.')

/** Returns an answer of a tool as the protocol has it. */
export const resultOf = ({ text, data }: ToolAnswer): CallToolResult => ({
  content: [{ type: 'text', text: printable(text) }],
  structuredContent: { ...data },
})

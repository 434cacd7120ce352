import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider'
import type { TranslatedWire } from '@berth/core/accounting/upstream.ts'
import { isObject, type Json } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'
import { markOf } from './cache-marks.ts'
import { arrayAt, objectAt, optionalString, stringAt } from './field-readers.ts'
import { chatFunction, refuseUnknown, tools as toolMembers } from './known-members.ts'

/** Tools and tool choice, in the form of a call. */
export type ToolOptions = Pick<LanguageModelV4CallOptions, 'tools' | 'toolChoice'>

/** Reads `tools` and `tool_choice`. Chat Completions nests a function's fields under `function`. */
export function readTools(body: Json, wire: TranslatedWire): ToolOptions {
  const given = body['tools'] ?? []
  const tools = arrayAt(given, 'tools').map((tool, at) => readTool(objectAt(tool, `tools[${at}]`), at, wire))
  const names = new Set(tools.map(tool => tool.name))
  if (names.size < tools.length) throw refuse('tools', 'Two tools have the same name.')
  const choice = readChoice(body['tool_choice'], wire, names)
  if (tools.length === 0) {
    if (choice === undefined || choice.type === 'auto' || choice.type === 'none') return {}
    throw refuse('tool_choice', 'tool_choice needs tools to choose from.')
  }
  const { allowed, ...toolChoice } = choice ?? {}
  return {
    tools: allowed === undefined ? tools : tools.filter(tool => allowed.has(tool.name)),
    ...(choice !== undefined && { toolChoice: toolChoice as LanguageModelV4ToolChoice }),
  }
}

function readTool(tool: Json, at: number, wire: TranslatedWire): LanguageModelV4FunctionTool {
  const param = `tools[${at}]`
  if (tool['type'] !== 'function') {
    throw refuse(
      `${param}.type`,
      `A tool of type ${JSON.stringify(tool['type'])} is not run for this model: only functions are.`,
    )
  }
  const path = wire === 'chat' ? `${param}.function` : param
  const fields = wire === 'chat' ? objectAt(tool['function'], path) : tool
  refuseUnknown(tool, param, toolMembers[wire])
  if (wire === 'chat') refuseUnknown(fields, path, chatFunction)
  const description = optionalString(fields['description'], `${path}.description`)
  const strict = fields['strict']
  return {
    type: 'function',
    name: stringAt(fields['name'], `${path}.name`),
    ...(description !== undefined && { description }),
    inputSchema: readSchema(fields['parameters'], `${path}.parameters`),
    ...(typeof strict === 'boolean' && { strict }),
    ...markOf({ ...tool, ...fields }),
  }
}

/** Normalises a parameter schema to that of an object. Some providers require the explicit type that OpenAI implies. */
function readSchema(schema: unknown, param: string): LanguageModelV4FunctionTool['inputSchema'] {
  if (schema === undefined || schema === null || schema === true) return { type: 'object', properties: {} }
  const given = objectAt(schema, param)
  const { type, properties } = given
  const open = type === undefined || type === null || (Array.isArray(type) && type.includes('object'))
  if (!open && type !== 'object') throw refuse(param, `${param} must be the schema of an object.`)
  const named = isObject(properties) || (!open && properties !== undefined) ? properties : {}
  return { ...given, type: 'object', properties: named } as LanguageModelV4FunctionTool['inputSchema']
}

type Choice = LanguageModelV4ToolChoice & { readonly allowed?: ReadonlySet<string> }

function readChoice(choice: unknown, wire: TranslatedWire, names: ReadonlySet<string>): Choice | undefined {
  if (choice === undefined || choice === null) return undefined
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  if (typeof choice === 'string') throw refuse('tool_choice', `tool_choice "${choice}" is not known.`)
  const fields = objectAt(choice, 'tool_choice')
  if (fields['type'] === 'function') return { type: 'tool', toolName: nameOf(fields, 'tool_choice', wire, names) }
  if (fields['type'] !== 'allowed_tools') {
    throw refuse('tool_choice', `tool_choice of type ${JSON.stringify(fields['type'])} is not supported by this model.`)
  }
  const param = wire === 'chat' ? 'tool_choice.allowed_tools' : 'tool_choice'
  const allowed = wire === 'chat' ? objectAt(fields['allowed_tools'], param) : fields
  const mode = allowed['mode']
  if (mode !== 'auto' && mode !== 'required') throw refuse(`${param}.mode`, `${param}.mode must be auto or required.`)
  const list = arrayAt(allowed['tools'], `${param}.tools`)
  if (list.length === 0) throw refuse(`${param}.tools`, `${param}.tools is empty.`)
  return {
    type: mode,
    allowed: new Set(
      list.map((tool, at) => {
        const path = `${param}.tools[${at}]`
        const entry = objectAt(tool, path)
        if (entry['type'] !== 'function') throw refuse(`${path}.type`, `${path} must be a function.`)
        return nameOf(entry, path, wire, names)
      }),
    ),
  }
}

function nameOf(entry: Json, param: string, wire: TranslatedWire, names: ReadonlySet<string>): string {
  const path = wire === 'chat' ? `${param}.function` : param
  const name = stringAt((wire === 'chat' ? objectAt(entry['function'], path) : entry)['name'], `${path}.name`)
  if (!names.has(name)) throw refuse(`${path}.name`, `No tool is called ${JSON.stringify(name)}.`)
  return name
}

import type { LanguageModelV4Prompt, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { Json } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'
import { openReasoning, type Sealing } from '../formats/sealed-reasoning.ts'
import { markOf } from './cache-marks.ts'
import { arrayAt, objectAt, optionalString, stringAt } from './field-readers.ts'
import { refuseUnknown, refuseUnknownInPart, responsesHeld, responsesItems, responsesParts } from './known-members.ts'
import { audioPart, filePart, imagePart } from './media.ts'
import { PromptBuilder, type UserPart } from './prompt-builder.ts'
import type { Target } from './target.ts'

/** Reads `instructions` and `input` of a Responses request. */
export function readInput(body: Json, target: Target, sealing: Sealing): LanguageModelV4Prompt {
  const prompt = new PromptBuilder(target)
  const instructions = optionalString(body['instructions'], 'instructions')
  if (instructions !== undefined && instructions !== '') prompt.system(instructions)
  const input = body['input']
  if (typeof input === 'string') prompt.user([{ type: 'text', text: input }])
  else {
    for (const [at, item] of arrayAt(input, 'input').entries()) {
      const param = `input[${at}]`
      readItem(objectAt(item, param), param, prompt, target, sealing)
    }
  }
  return prompt.build('input')
}

function readItem(item: Json, param: string, prompt: PromptBuilder, target: Target, sealing: Sealing): void {
  const type = item['type'] ?? 'message'
  refuseUnknown(item, param, responsesItems.get(type))
  switch (type) {
    case 'message':
      readMessage(item, param, prompt, target)
      break
    case 'function_call':
      prompt.call(
        stringAt(item['call_id'], `${param}.call_id`),
        stringAt(item['name'], `${param}.name`),
        stringAt(item['arguments'], `${param}.arguments`),
        param,
      )
      break
    case 'function_call_output':
      prompt.result(
        stringAt(item['call_id'], `${param}.call_id`),
        readOutput(item['output'], `${param}.output`, target),
        param,
        markOf({ ...item, content: item['output'] }),
      )
      break
    case 'reasoning':
      readReasoning(item, param, prompt, sealing)
      break
    case 'item_reference':
      throw refuse(
        `${param}.type`,
        `${param} refers to an item of an earlier response, and the gateway keeps none. Set \`store: false\` in the client, so that it sends the items themselves (in the AI SDK, \`providerOptions: { openai: { store: false } }\`).`,
      )
    default:
      throw refuse(`${param}.type`, `An item of type ${JSON.stringify(item['type'])} is not supported by this model.`)
  }
}

/**
 * Reads a reasoning item. A summary alone, without the provider's signed content, is not the model's reasoning, so it
 * is left out.
 */
function readReasoning(item: Json, param: string, prompt: PromptBuilder, sealing: Sealing): void {
  const kept = openReasoning(item['encrypted_content'], `${param}.encrypted_content`, sealing)
  if (kept === undefined) return
  if (kept.on === 'reasoning') prompt.reasoning(kept.text, kept.metadata)
  else if (kept.on === 'call') prompt.callMetadata(kept.callId, kept.metadata)
  else prompt.textMetadata(kept.metadata)
}

function readMessage(item: Json, param: string, prompt: PromptBuilder, target: Target): void {
  const { role, content } = item
  const path = `${param}.content`
  switch (role) {
    case 'user':
      prompt.user(
        typeof content === 'string'
          ? [{ type: 'text', text: content, ...markOf(item) }]
          : arrayAt(content, path).map((part, at) =>
              readPart(objectAt(part, `${path}[${at}]`), `${path}[${at}]`, target),
            ),
      )
      break
    case 'assistant':
      for (const text of readTexts(content, path)) prompt.text(text)
      return
    case 'system':
    case 'developer':
      prompt.system(readTexts(content, path).join('\n'), markOf(item))
      break
    default:
      throw refuse(`${param}.role`, `The role ${JSON.stringify(role)} is not known.`)
  }
}

function readTexts(content: unknown, param: string): string[] {
  if (typeof content === 'string') return [content]
  return arrayAt(content, param).map((value, at) => {
    const path = `${param}[${at}]`
    const part = objectAt(value, path)
    refuseUnknownInPart(part, path, responsesParts, responsesHeld)
    switch (part['type']) {
      case 'input_text':
      case 'output_text':
      case 'text':
        return stringAt(part['text'], `${path}.text`)
      case 'refusal':
        return stringAt(part['refusal'], `${path}.refusal`)
      default:
        throw refuse(`${path}.type`, `Content of type ${JSON.stringify(part['type'])} is not text.`)
    }
  })
}

const readPart = (part: Json, param: string, target: Target): UserPart => ({
  ...readUnmarked(part, param, target),
  ...markOf(part),
})

function readUnmarked(part: Json, param: string, target: Target): UserPart {
  refuseUnknownInPart(part, param, responsesParts, responsesHeld)
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: stringAt(part['text'], `${param}.text`) }
    case 'input_image':
      noFileId(part, param)
      return imagePart(stringAt(part['image_url'], `${param}.image_url`), `${param}.image_url`, target)
    case 'input_file':
      noFileId(part, param)
      return filePart(
        {
          url: optionalString(part['file_url'], `${param}.file_url`),
          data: optionalString(part['file_data'], `${param}.file_data`),
          name: optionalString(part['filename'], `${param}.filename`),
        },
        param,
        target,
      )
    case 'input_audio': {
      const audio = objectAt(part['input_audio'], `${param}.input_audio`)
      const data = stringAt(audio['data'], `${param}.input_audio.data`)
      return audioPart(data, stringAt(audio['format'], `${param}.input_audio.format`), param, target)
    }
    default:
      throw refuse(`${param}.type`, `Content of type ${JSON.stringify(part['type'])} is not supported by this model.`)
  }
}

function noFileId(part: Json, param: string): void {
  if (part['file_id'] === undefined || part['file_id'] === null) return
  throw refuse(`${param}.file_id`, 'The gateway keeps no files: send the content, or a URL.')
}

function readOutput(output: unknown, param: string, target: Target): LanguageModelV4ToolResultOutput {
  if (typeof output === 'string') return { type: 'text', value: output }
  const value = arrayAt(output, param).map((part, at) =>
    readPart(objectAt(part, `${param}[${at}]`), `${param}[${at}]`, target),
  )
  return { type: 'content', value }
}

import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Json } from '@berth/platform/kit/json.ts'
import { refuse } from '../formats/refuse.ts'
import { openReasoning, type Sealing, signatureIn } from '../formats/sealed-reasoning.ts'
import { markOf } from './cache-marks.ts'
import { arrayAt, objectAt, optionalString, stringAt } from './field-readers.ts'
import {
  chatCall,
  chatCalled,
  chatHeld,
  chatMessages,
  chatParts,
  refuseUnknown,
  refuseUnknownInPart,
} from './known-members.ts'
import { audioPart, filePart, imagePart } from './media.ts'
import { PromptBuilder, type UserPart } from './prompt-builder.ts'
import type { Target } from './target.ts'

/** Reads `messages` of a Chat Completions request. */
export function readMessages(body: Json, target: Target, sealing: Sealing): LanguageModelV4Prompt {
  const prompt = new PromptBuilder(target)
  for (const [at, value] of arrayAt(body['messages'], 'messages').entries()) {
    const param = `messages[${at}]`
    readMessage(objectAt(value, param), param, prompt, target, sealing)
  }
  return prompt.build('messages')
}

function readMessage(message: Json, param: string, prompt: PromptBuilder, target: Target, sealing: Sealing): void {
  const { role, content } = message
  const path = `${param}.content`
  refuseUnknown(message, param, chatMessages.get(role))
  switch (role) {
    case 'system':
    case 'developer':
      prompt.system(readTexts(content, path).join('\n'), markOf(message))
      break
    case 'user':
      prompt.user(
        typeof content === 'string'
          ? [{ type: 'text', text: content, ...markOf(message) }]
          : arrayAt(content, path).map((part, at) =>
              readPart(objectAt(part, `${path}[${at}]`), `${path}[${at}]`, target),
            ),
      )
      break
    case 'assistant':
      readAssistant(message, param, prompt, sealing)
      break
    case 'tool':
      prompt.result(
        stringAt(message['tool_call_id'], `${param}.tool_call_id`),
        { type: 'text', value: readTexts(content, path).join('\n') },
        param,
        markOf(message),
      )
      break
    default:
      throw refuse(`${param}.role`, `The role ${JSON.stringify(role)} is not supported by this model.`)
  }
}

function readAssistant(message: Json, param: string, prompt: PromptBuilder, sealing: Sealing): void {
  for (const field of ['audio', 'function_call']) {
    if (message[field] === undefined || message[field] === null) continue
    throw refuse(`${param}.${field}`, `${field} in a message is not supported by this model.`)
  }
  if (message['content'] !== undefined && message['content'] !== null) {
    for (const text of readTexts(message['content'], `${param}.content`)) prompt.text(text)
  }
  prompt.text(optionalString(message['refusal'], `${param}.refusal`) ?? '')
  readSignature(message, param, prompt, sealing)
  for (const [at, value] of arrayAt(message['tool_calls'] ?? [], `${param}.tool_calls`).entries()) {
    const path = `${param}.tool_calls[${at}]`
    const call = objectAt(value, path)
    if ((call['type'] ?? 'function') !== 'function') throw refuse(`${path}.type`, `${path} must call a function.`)
    const called = objectAt(call['function'], `${path}.function`)
    refuseUnknown(call, path, chatCall)
    refuseUnknown(called, `${path}.function`, chatCalled)
    const id = stringAt(call['id'], `${path}.id`)
    readSignature(call, path, prompt, sealing, id)
    prompt.call(
      id,
      stringAt(called['name'], `${path}.function.name`),
      stringAt(called['arguments'], `${path}.function.arguments`),
      path,
    )
  }
}

/**
 * Reads the signature of a call. Some libraries move it from the call to the message.
 * @param callId id of the call that the object is; absent: the signature tells it
 */
function readSignature(object: Json, param: string, prompt: PromptBuilder, sealing: Sealing, callId?: string): void {
  const kept = openReasoning(signatureIn(object), `${param}.extra_content.google.thought_signature`, sealing)
  if (kept?.on === 'call') prompt.callMetadata(callId ?? kept.callId, kept.metadata)
}

function readTexts(content: unknown, param: string): string[] {
  if (typeof content === 'string') return [content]
  return arrayAt(content, param).map((value, at) => {
    const path = `${param}[${at}]`
    const part = objectAt(value, path)
    refuseUnknownInPart(part, path, chatParts, chatHeld)
    if (part['type'] === 'text') return stringAt(part['text'], `${path}.text`)
    if (part['type'] === 'refusal') return stringAt(part['refusal'], `${path}.refusal`)
    throw refuse(`${path}.type`, `Content of type ${JSON.stringify(part['type'])} is not text.`)
  })
}

const readPart = (part: Json, param: string, target: Target): UserPart => ({
  ...readUnmarked(part, param, target),
  ...markOf(part),
})

function readUnmarked(part: Json, param: string, target: Target): UserPart {
  refuseUnknownInPart(part, param, chatParts, chatHeld)
  switch (part['type']) {
    case 'text':
      return { type: 'text', text: stringAt(part['text'], `${param}.text`) }
    case 'image_url': {
      const url = objectAt(part['image_url'], `${param}.image_url`)['url']
      return imagePart(stringAt(url, `${param}.image_url.url`), `${param}.image_url.url`, target)
    }
    case 'input_audio': {
      const audio = objectAt(part['input_audio'], `${param}.input_audio`)
      const data = stringAt(audio['data'], `${param}.input_audio.data`)
      return audioPart(data, stringAt(audio['format'], `${param}.input_audio.format`), param, target)
    }
    case 'file': {
      const path = `${param}.file`
      const file = objectAt(part['file'], path)
      if (file['file_id'] !== undefined && file['file_id'] !== null) {
        throw refuse(`${path}.file_id`, 'The gateway keeps no files: send the content.')
      }
      const data = optionalString(file['file_data'], `${path}.file_data`)
      return filePart({ data, name: optionalString(file['filename'], `${path}.filename`) }, path, target)
    }
    default:
      throw refuse(`${param}.type`, `Content of type ${JSON.stringify(part['type'])} is not supported by this model.`)
  }
}

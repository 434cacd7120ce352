import type { CreateElicitationResponse, ElicitationPropertySchema } from '@agentclientprotocol/sdk'
import { type Static, Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { asObject } from '../json.ts'
import type { People } from './people.ts'
import { textResult } from './text-result.ts'

/** Limits of an Interaction in the API. */
const MAX_QUESTIONS = 4
const MAX_OPTIONS = 20

const Question = Type.Object({
  question: Type.String({ description: 'The question, complete: people see nothing of the conversation with it' }),
  header: Type.Optional(Type.String({ description: 'Two or three words that name it' })),
  options: Type.Optional(
    Type.Array(Type.String(), { maxItems: MAX_OPTIONS, description: 'Answers to choose from; none for free text' }),
  ),
  recommended: Type.Optional(Type.Integer({ minimum: 0, description: 'Index of the option that you would choose' })),
  multiSelect: Type.Optional(Type.Boolean({ description: 'Several options may be chosen' })),
  allowCustom: Type.Optional(Type.Boolean({ description: 'Another answer than the options may be given' })),
})

const Parameters = Type.Object({ questions: Type.Array(Question, { minItems: 1, maxItems: MAX_QUESTIONS }) })

/** Returns a tool that asks people through an elicitation form and waits as long as they take. */
export function askUser({ sessionId, capabilities, callId, ask }: People) {
  return defineTool({
    name: 'ask_user',
    label: 'ask_user',
    description:
      'Ask the user up to four questions and wait for the answers. Only for what you cannot find out or sensibly decide yourself.',
    parameters: Parameters,
    executionMode: 'sequential',
    async execute(toolCallId, { questions }, signal) {
      if (!capabilities.elicitation?.form) {
        throw new Error(
          'Nobody can be asked here. Decide yourself, and say in your last message what you decided and why.',
        )
      }
      const request = {
        mode: 'form',
        sessionId,
        toolCallId: callId(toolCallId),
        // With several questions, each field carries its own, and the form needs no text ahead of them.
        message: questions.length === 1 ? (questions[0]?.question ?? '') : '',
        requestedSchema: {
          type: 'object',
          properties: Object.fromEntries(questions.map((question, index) => [fieldOf(index), propertyOf(question)])),
          required: questions.map((_, index) => fieldOf(index)),
        },
      } as const
      const response = await ask<CreateElicitationResponse>('elicitation/create', request, signal)
      signal?.throwIfAborted()
      if (response.action !== 'accept') {
        return textResult(
          'The question was closed without an answer. Go on without one, or stop and say what is missing.',
        )
      }
      const content = asObject('content' in response ? response.content : null)
      const text = asObject(response._meta?.['berth'])['text']
      const answers = questions.flatMap(({ question }, index) => {
        const answer = content[fieldOf(index)]
        return answer === undefined
          ? []
          : [`${question}\n→ ${Array.isArray(answer) ? answer.join(', ') : String(answer)}`]
      })
      const freeText = typeof text === 'string' ? [`In the user's own words: ${text}`] : []
      return textResult([...answers, ...freeText].join('\n\n') || 'The user gave no answer.')
    },
  })
}

const fieldOf = (index: number): string => `q${index + 1}`

function propertyOf(question: Static<typeof Question>): ElicitationPropertySchema {
  const { options = [], header, recommended, allowCustom, multiSelect } = question
  const common = {
    description: question.question,
    ...(header !== undefined && { title: header }),
    _meta: {
      berth: {
        ...(header !== undefined && { header }),
        ...(recommended !== undefined && { recommendedIndex: recommended }),
        ...(allowCustom === true && { allowCustom }),
      },
    },
  }
  if (options.length === 0) return { type: 'string', ...common }
  if (multiSelect === true) return { type: 'array', items: { type: 'string', enum: options }, ...common }
  return { type: 'string', enum: options, ...common }
}

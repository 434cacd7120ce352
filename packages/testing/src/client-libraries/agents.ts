import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
  tool,
} from '@openai/agents'
import OpenAI from 'openai'
import * as shared from './library.ts'

setTracingDisabled(true)

const runner = new Runner({ tracingDisabled: true })
const tools = [tool({ name: 'add', description: shared.description, parameters: shared.addition, execute: shared.add })]

function library(way: string, keepsReasoning: readonly shared.ModelId[], isChat: boolean): shared.ClientLibrary {
  const agent = ({ origin, key }: shared.Endpoint, model: shared.ModelId) => {
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: key, maxRetries: 0 })
    return {
      name: 'adder',
      instructions: 'Be brief.',
      model: isChat ? new OpenAIChatCompletionsModel(client, model) : new OpenAIResponsesModel(client, model),
    }
  }
  return {
    name: `@openai/agents, ${way}`,
    models: shared.everyModel,
    keepsReasoning,
    ...(isChat && { keepsStreamed: false }),
    ask: async (endpoint, model) =>
      (await runner.run(new Agent(agent(endpoint, model)), shared.question)).finalOutput ?? '',
    async stream(endpoint, model) {
      const answer = await runner.run(new Agent(agent(endpoint, model)), shared.question, { stream: true })
      return shared.joined(answer.toTextStream())
    },
    async loop(endpoint, model, streams) {
      const configured = new Agent({
        ...agent(endpoint, model),
        tools,
        modelSettings: {
          store: false,
          reasoning: { effort: 'high', summary: 'auto' },
          ...(!isChat && { providerData: { include: ['reasoning.encrypted_content'] } }),
        },
      })
      if (!streams) return (await runner.run(configured, shared.task)).finalOutput ?? ''
      const answer = await runner.run(configured, shared.task, { stream: true })
      await answer.completed
      return answer.finalOutput ?? ''
    },
    async structured(endpoint, model) {
      const configured = new Agent({ ...agent(endpoint, model), outputType: shared.place })
      return (await runner.run(configured, shared.question)).finalOutput
    },
  }
}

export const agentsLibraries = [
  library('Chat Completions', [shared.models.google], true),
  library('Responses', [shared.models.anthropic, shared.models.google], false),
]

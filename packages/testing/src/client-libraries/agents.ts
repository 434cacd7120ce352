import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  setTracingDisabled,
  tool,
} from '@openai/agents'
import OpenAI from 'openai'
import {
  add,
  addition,
  type ClientLibrary,
  description,
  type Endpoint,
  everyModel,
  joined,
  type ModelId,
  models,
  place,
  question,
  task,
} from './library.ts'

setTracingDisabled(true)

const runner = new Runner({ tracingDisabled: true })
const tools = [tool({ name: 'add', description, parameters: addition, execute: add })]

function library(way: string, keepsReasoning: readonly ModelId[], isChat: boolean): ClientLibrary {
  const agent = ({ origin, key }: Endpoint, model: ModelId) => {
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: key, maxRetries: 0 })
    return {
      name: 'adder',
      instructions: 'Be brief.',
      model: isChat ? new OpenAIChatCompletionsModel(client, model) : new OpenAIResponsesModel(client, model),
    }
  }
  return {
    name: `@openai/agents, ${way}`,
    models: everyModel,
    keepsReasoning,
    ...(isChat && { keepsStreamed: false }),
    ask: async (endpoint, model) => (await runner.run(new Agent(agent(endpoint, model)), question)).finalOutput ?? '',
    async stream(endpoint, model) {
      const answer = await runner.run(new Agent(agent(endpoint, model)), question, { stream: true })
      return joined(answer.toTextStream())
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
      if (!streams) return (await runner.run(configured, task)).finalOutput ?? ''
      const answer = await runner.run(configured, task, { stream: true })
      await answer.completed
      return answer.finalOutput ?? ''
    },
    async structured(endpoint, model) {
      const configured = new Agent({ ...agent(endpoint, model), outputType: place })
      return (await runner.run(configured, question)).finalOutput
    },
  }
}

export const agentsLibraries = [
  library('Chat Completions', [models.google], true),
  library('Responses', [models.anthropic, models.google], false),
]

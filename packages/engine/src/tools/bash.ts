import { Type } from '@earendil-works/pi-ai'
import { createBashToolDefinition, createLocalBashOperations, defineTool } from '@earendil-works/pi-coding-agent'
import type { BackgroundCommands } from './background/background-commands.ts'
import { textResult } from './text-result.ts'

/** Timeout if the model asks for none, and the longest that it may ask for. */
const DEFAULT_SECONDS = 120
const MAX_SECONDS = 1800

/**
 * Returns the bash tool. Its time and output are bounded, and the whole process group ends with the command.
 * @param background where commands go on that the model does not wait for; null if it has to wait for all
 */
export function bash(cwd: string, background: BackgroundCommands | null) {
  const operations = createLocalBashOperations()
  const definition = createBashToolDefinition(cwd, {
    exposeSessionEnvironment: false,
    operations: {
      exec: (command, directory, options) =>
        operations.exec(command, directory, { ...options, timeout: secondsOf(options.timeout) }),
    },
  })
  const description = `Run a bash command in the working directory. Gives its output, the last 2000 lines or 50 KB of it; the whole goes to a file that the result names. It is ended after ${DEFAULT_SECONDS} seconds; \`timeout\` asks for another number of seconds, at most ${MAX_SECONDS}. There is no terminal and no input.`
  if (background === null) return defineTool({ ...definition, description })
  return defineTool({
    ...definition,
    description: `${description} With \`background\` it goes on while you work, until it ends or is stopped, for servers and long builds: you get an id for the tool background, and are told when it ends.`,
    parameters: Type.Object({
      ...definition.parameters.properties,
      background: Type.Optional(Type.Boolean({ description: 'Do not wait for it' })),
    }),
    async execute(id, { background: isInBackground, ...input }, signal, onUpdate, context) {
      if (isInBackground !== true) return definition.execute(id, input, signal, onUpdate, context)
      if (input.timeout !== undefined) {
        throw new Error(
          'A background command has no timeout: leave one of the two out, or stop it by the tool background.',
        )
      }
      const { id: started } = await background.start(input.command)
      return { ...textResult(`It runs in the background as ${started}.`) }
    },
  })
}

const secondsOf = (requested: number | undefined): number =>
  requested === undefined || !(requested > 0) ? DEFAULT_SECONDS : Math.min(requested, MAX_SECONDS)

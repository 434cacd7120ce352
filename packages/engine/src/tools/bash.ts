import { createBashToolDefinition, createLocalBashOperations, defineTool } from '@earendil-works/pi-coding-agent'

/** Timeout if the model asks for none, and the longest that it may ask for. */
const DEFAULT_SECONDS = 120
const MAX_SECONDS = 1800

/** Returns the bash tool. Its time and output are bounded, and the whole process group ends with the command. */
export function bash(cwd: string) {
  const operations = createLocalBashOperations()
  const definition = createBashToolDefinition(cwd, {
    exposeSessionEnvironment: false,
    operations: {
      exec: (command, directory, options) =>
        operations.exec(command, directory, { ...options, timeout: secondsOf(options.timeout) }),
    },
  })
  return defineTool({
    ...definition,
    description: `Run a bash command in the working directory. Gives its output, the last 2000 lines or 50 KB of it; the whole goes to a file that the result names. It is ended after ${DEFAULT_SECONDS} seconds; \`timeout\` asks for another number of seconds, at most ${MAX_SECONDS}. There is no terminal and no input.`,
  })
}

const secondsOf = (requested: number | undefined): number =>
  requested === undefined || !(requested > 0) ? DEFAULT_SECONDS : Math.min(requested, MAX_SECONDS)

import { type AgentToolResult, createWriteToolDefinition, type ToolDefinition } from '@earendil-works/pi-coding-agent'
import { textResult } from '../text-result.ts'

type Context = Parameters<ToolDefinition['execute']>[4]

/**
 * Calls `change` with the absolute path of a file and returns its words as the tool's result.
 * The library's write tool resolves the path as its read tool does, and lets changes of one file wait for each other.
 */
export async function changeFile(
  cwd: string,
  call: { id: string; path: string; signal: AbortSignal | undefined; context: Context },
  change: (absolutePath: string) => Promise<string>,
): Promise<AgentToolResult<undefined>> {
  let report = ''
  const operations = {
    mkdir: () => Promise.resolve(),
    writeFile: async (absolutePath: string) => {
      report = await change(absolutePath)
    },
  }
  const { execute } = createWriteToolDefinition(cwd, { operations })
  await execute(call.id, { path: call.path, content: '' }, call.signal, undefined, call.context)
  return textResult(report)
}

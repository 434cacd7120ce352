import {
  createEditToolDefinition,
  createReadToolDefinition,
  defineTool,
  type ToolDefinition,
} from '@earendil-works/pi-coding-agent'
import { refuseInvalidArguments } from '../gateway/invalid-arguments.ts'
import type { ServerTool } from '../mcp/server-tools.ts'
import { bash } from './bash.ts'
import { list } from './list.ts'
import { presentFile } from './present-file.ts'
import { search } from './search.ts'
import { write } from './write.ts'

/** Tools that change nothing. */
const readOnly: readonly string[] = ['read', 'search', 'list', 'ask_user', 'exit_plan_mode', 'delegate']

/** Names of the tools that may be used, in plan mode or out of it. */
export const usable = (
  tools: readonly ToolDefinition[],
  ofServers: readonly ServerTool[],
  planning: boolean,
): string[] => [
  ...tools.map(({ name }) => name).filter(name => (planning ? readOnly.includes(name) : name !== 'exit_plan_mode')),
  ...ofServers.filter(tool => !planning || tool.readOnly).map(({ definition }) => definition.name),
]

/** Tools of the workspace, for the agent and its sub-agents. */
export function workspaceTools(cwd: string): ToolDefinition[] {
  return [
    defineTool(createReadToolDefinition(cwd, { autoResizeImages: false })),
    defineTool(createEditToolDefinition(cwd)),
    write(cwd),
    bash(cwd),
    search(cwd),
    list(cwd),
    presentFile(cwd),
  ]
}

/** The same tools, which refuse arguments that are no JSON. */
export const guarded = (tools: readonly ToolDefinition[]): ToolDefinition[] =>
  tools.map(tool => ({
    ...tool,
    prepareArguments: args => {
      refuseInvalidArguments(args)
      return tool.prepareArguments?.(args) ?? args
    },
  }))

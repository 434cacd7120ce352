import type { ToolDefinition } from '@earendil-works/pi-coding-agent'
import { refuseInvalidArguments } from '../gateway/invalid-arguments.ts'
import type { ServerTool } from '../mcp/server-tools.ts'
import type { BackgroundCommands } from './background/background-commands.ts'
import { bash } from './bash.ts'
import type { Diagnostics } from './diagnostics/diagnostics.ts'
import { edit } from './edit.ts'
import { list } from './list.ts'
import { applyPatch } from './patch/apply-patch.ts'
import { presentFile } from './present-file.ts'
import { read } from './read.ts'
import { search } from './search.ts'
import { fetchPage } from './web/fetch-page.ts'
import { webSearch } from './web/web-search.ts'
import { write } from './write.ts'

/** Tools that change nothing but what the agent itself has left running. */
const readOnly: readonly string[] = [
  'read',
  'search',
  'list',
  'ask_user',
  'exit_plan_mode',
  'delegate',
  'todo',
  'background',
  'fetch',
  'web_search',
]

/** Returns the names of the tools that may be used, depending on plan mode and on how the model changes files. */
export const usable = (
  tools: readonly ToolDefinition[],
  ofServers: readonly ServerTool[],
  { planning, patches }: { readonly planning: boolean; readonly patches: boolean },
): string[] => [
  ...tools
    .map(({ name }) => name)
    .filter(name => (planning ? readOnly.includes(name) : name !== 'exit_plan_mode'))
    .filter(name => (patches ? name !== 'edit' && name !== 'write' : name !== 'apply_patch')),
  ...ofServers.filter(tool => !planning || tool.readOnly).map(({ definition }) => definition.name),
]

/**
 * Returns the workspace's tools, and those of the web.
 * @param searchUrl URL of the worker's search of the web; null if it has none
 * @param background null for a sub-agent, which leaves nothing running
 */
export function workspaceTools(
  cwd: string,
  searchUrl: URL | null,
  background: BackgroundCommands | null,
  diagnostics: Diagnostics,
): ToolDefinition[] {
  return [
    ...[read(cwd), edit(cwd), write(cwd), applyPatch(cwd)].map(tool => diagnostics.watch(tool)),
    bash(cwd, background),
    search(cwd),
    list(cwd),
    presentFile(cwd),
    fetchPage(),
    ...(searchUrl === null ? [] : [webSearch(searchUrl)]),
  ]
}

/** Returns the same tools, refusing arguments that are not a JSON object. */
export const guarded = (tools: readonly ToolDefinition[]): ToolDefinition[] =>
  tools.map(tool => ({
    ...tool,
    prepareArguments: args => {
      refuseInvalidArguments(args)
      return tool.prepareArguments?.(args) ?? args
    },
  }))

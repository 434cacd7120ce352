import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  createExtensionRuntime,
  createSyntheticSourceInfo,
  type Extension,
  loadProjectContextFiles,
  loadSkills,
  type ResourceLoader,
  type Skill,
} from '@earendil-works/pi-coding-agent'
import { systemPrompt } from './system-prompt.ts'

/** Where repositories keep skills. */
const skillDirectories = ['.agents/skills', '.pi/skills', '.claude/skills'] as const
/** Of each file of instructions, what the model is shown. */
const MAX_INSTRUCTIONS = 64 * 1024

/**
 * What a workspace tells its agents: AGENTS.md of it and of the directories above, and its skills. All of it is text for
 * the model; nothing of it is run, or changes a setting, by being there.
 * @param extension what is registered while the agent lives: tools of servers
 * @param notes what the model is told of these
 */
export function workspaceResources(
  cwd: string,
  agentDir: string,
  extension: Extension,
  notes: () => readonly string[],
): ResourceLoader {
  let skills: Skill[] = []
  let agentsFiles: { path: string; content: string }[] = []
  const read = () => {
    const skillPaths = skillDirectories.map(name => join(cwd, name)).filter(path => existsSync(path))
    skills = loadSkills({ cwd, agentDir, skillPaths, includeDefaults: false }).skills
    agentsFiles = loadProjectContextFiles({ cwd, agentDir }).map(({ path, content }) => ({
      path,
      content: cut(content),
    }))
  }
  read()
  const extensions = { extensions: [extension], errors: [], runtime: createExtensionRuntime() }
  return {
    getExtensions: () => extensions,
    getSkills: () => ({ skills, diagnostics: [] }),
    getPrompts: () => ({ prompts: [], diagnostics: [] }),
    getThemes: () => ({ themes: [], diagnostics: [] }),
    getAgentsFiles: () => ({ agentsFiles }),
    getSystemPrompt: () => systemPrompt,
    getSystemPromptSource: () => undefined,
    getAppendSystemPrompt: () => [...notes()],
    getAppendSystemPromptSources: () => [],
    extendResources: () => undefined,
    reload: async () => read(),
  }
}

/** The SDK's place for tools that come and go, with none in it. */
export function noTools(): Extension {
  const path = '<servers>'
  return {
    path,
    resolvedPath: path,
    sourceInfo: createSyntheticSourceInfo(path, { source: 'sdk' }),
    handlers: new Map(),
    tools: new Map(),
    messageRenderers: new Map(),
    commands: new Map(),
    flags: new Map(),
    shortcuts: new Map(),
  }
}

const cut = (content: string): string =>
  content.length <= MAX_INSTRUCTIONS ? content : `${content.slice(0, MAX_INSTRUCTIONS)}\n[cut: the file goes on]`

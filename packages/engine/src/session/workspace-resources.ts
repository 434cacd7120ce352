import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  createExtensionRuntime,
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
 * the model; nothing of a workspace is run, or changes a setting, by being there.
 */
export function workspaceResources(cwd: string, agentDir: string): ResourceLoader {
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
  const extensions = { extensions: [], errors: [], runtime: createExtensionRuntime() }
  return {
    getExtensions: () => extensions,
    getSkills: () => ({ skills, diagnostics: [] }),
    getPrompts: () => ({ prompts: [], diagnostics: [] }),
    getThemes: () => ({ themes: [], diagnostics: [] }),
    getAgentsFiles: () => ({ agentsFiles }),
    getSystemPrompt: () => systemPrompt,
    getSystemPromptSource: () => undefined,
    getAppendSystemPrompt: () => [],
    getAppendSystemPromptSources: () => [],
    extendResources: () => undefined,
    reload: async () => read(),
  }
}

const cut = (content: string): string =>
  content.length <= MAX_INSTRUCTIONS ? content : `${content.slice(0, MAX_INSTRUCTIONS)}\n[cut: the file goes on]`

import { type ForeignRuntime, gatewayOriginInside, placeholderKey } from './foreign-runtime.ts'

/** Claude Code's output limit for a model of unknown size; a known smaller limit is passed on. */
const requestedOutputTokens = 32_000

/** Claude Code, through its ACP adapter. Speaks Anthropic's Messages. */
export const claudeCode: ForeignRuntime = {
  id: 'claude-code',
  name: 'Claude Code',
  version: '0.100.0',
  install: { kind: 'npm' },
  command: directory => ['node', `${directory}/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js`],
  env: {
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // Otherwise it asks the model after each prompt to suggest the person's next one, which only a terminal shows.
    CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: 'false',
    DISABLE_AUTOUPDATER: '1',
  },
  modelEnv: ({ id, contextTokens, outputTokens = requestedOutputTokens, effort }) => ({
    ANTHROPIC_BASE_URL: gatewayOriginInside,
    ANTHROPIC_API_KEY: placeholderKey,
    // It uses other models for chores and sub-agents, and class names; all of them become the chosen model.
    ANTHROPIC_MODEL: id,
    ANTHROPIC_SMALL_FAST_MODEL: id,
    ANTHROPIC_DEFAULT_FABLE_MODEL: id,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: id,
    ANTHROPIC_DEFAULT_OPUS_MODEL: id,
    ANTHROPIC_DEFAULT_SONNET_MODEL: id,
    CLAUDE_CODE_SUBAGENT_MODEL: id,
    ...(effort !== undefined && { CLAUDE_CODE_EFFORT_LEVEL: effort.word }),
    ...(contextTokens !== undefined && { CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(contextTokens) }),
    ...(outputTokens < requestedOutputTokens && { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(outputTokens) }),
  }),
  speaks: 'messages',
  ownProvider: { key: 'ANTHROPIC_API_KEY', env: {} },
  state: ['.claude/projects'],
  skills: ['.claude/skills'],
}

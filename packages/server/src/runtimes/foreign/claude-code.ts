import type { ForeignRuntime } from './foreign-runtime.ts'

/** Claude Code, through its ACP adapter. It speaks its provider's own format, so an operator gives it a key for that. */
export const claudeCode: ForeignRuntime = {
  id: 'claude-code',
  name: 'Claude Code',
  version: '0.100.0',
  install: { kind: 'npm' },
  command: directory => ['node', `${directory}/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js`],
  env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
  needs: ['ANTHROPIC_API_KEY'],
  state: ['.claude/projects'],
}

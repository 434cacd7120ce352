import { type ForeignRuntime, gatewayInside, placeholderKey } from './foreign-runtime.ts'

/**
 * Codex, through its ACP adapter. Speaks Responses. It may do everything that its sandbox allows without asking,
 * because its own sandbox cannot be set up inside another one. `INITIAL_AGENT_MODE=workspace-write` makes it ask.
 */
export const codex: ForeignRuntime = {
  id: 'codex',
  name: 'Codex',
  version: '2.6.0',
  install: { kind: 'npm' },
  command: directory => ['node', `${directory}/node_modules/@agentclientprotocol/codex-acp/dist/index.js`],
  env: {
    INITIAL_AGENT_MODE: 'agent-full-access',
    MODEL_PROVIDER: 'berth',
    NO_BROWSER: '1',
    OPENAI_API_KEY: placeholderKey,
  },
  modelEnv: ({ id, contextTokens, effort }) => ({
    CODEX_CONFIG: JSON.stringify({
      model: id,
      model_provider: 'berth',
      ...(effort !== undefined && { model_reasoning_effort: effort.word }),
      ...(contextTokens !== undefined && { model_context_window: contextTokens }),
      model_providers: {
        berth: {
          name: 'Berth',
          base_url: gatewayInside,
          wire_api: 'responses',
          env_key: 'OPENAI_API_KEY',
          requires_openai_auth: false,
          supports_websockets: false,
        },
      },
      approval_policy: 'on-request',
      web_search: 'disabled',
      analytics: { enabled: false },
      check_for_update_on_startup: false,
    }),
  }),
  // Its requests ask for tools that no translation knows.
  speaks: 'responses',
  state: ['.codex/sessions'],
}

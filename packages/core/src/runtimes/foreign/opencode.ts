import { type ForeignRuntime, gatewayInside, placeholderKey } from './foreign-runtime.ts'

/** OpenCode, by its own binary; asks before it runs commands and edits files. Speaks Chat Completions. */
export const opencode: ForeignRuntime = {
  id: 'opencode',
  name: 'OpenCode',
  version: '1.18.33',
  install: { kind: 'npm' },
  // The build without AVX2 runs everywhere; the wrapper around it only chooses between builds.
  command: directory => [`${directory}/node_modules/opencode-linux-x64-baseline/bin/opencode`, 'acp'],
  env: {
    OPENCODE_DISABLE_AUTOUPDATE: 'true',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: 'true',
    OPENCODE_DISABLE_LSP_DOWNLOAD: 'true',
    OPENCODE_DISABLE_MODELS_FETCH: 'true',
  },
  modelEnv: ({ id, contextTokens = 128_000, outputTokens = 8192, effort }) => ({
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      enabled_providers: ['berth'],
      model: `berth/${id}`,
      small_model: `berth/${id}`,
      permission: { bash: 'ask', edit: 'ask' },
      provider: {
        berth: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Berth',
          options: { baseURL: gatewayInside, apiKey: placeholderKey },
          models: {
            [id]: {
              name: id,
              tool_call: true,
              limit: { context: contextTokens, output: outputTokens },
              ...(effort !== undefined && { options: { reasoningEffort: effort.word } }),
            },
          },
        },
      },
    }),
  }),
  // Its repository snapshots beside these are left out: they only serve undo in its own view, and exceed the cap of
  // files.
  state: ['.local/share/opencode/opencode.db', '.local/share/opencode/opencode.db-wal'],
}

/** Environment of every agent; the sandbox's proxy is the only way out. */
export const agentEnvironment = {
  PATH: '/opt/berth:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/home/agent',
  USER: 'agent',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  http_proxy: 'http://127.0.0.1:3128',
  https_proxy: 'http://127.0.0.1:3128',
  HTTP_PROXY: 'http://127.0.0.1:3128',
  HTTPS_PROXY: 'http://127.0.0.1:3128',
  NO_PROXY: 'localhost,127.0.0.1,::1',
  no_proxy: 'localhost,127.0.0.1,::1',
  NODE_USE_ENV_PROXY: '1',
} as const

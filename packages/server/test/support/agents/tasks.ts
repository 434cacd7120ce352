const language = { properties: { language: { type: 'string', enum: ['French', 'Italian'] } }, required: ['language'] }

/** Tasks as people write them, by a name, each with its script for the agent. */
const tasks = {
  login: [
    'Find out why the login test is flaky, and mend it.',
    'say I will look at `login.test.ts` first.',
    'think The test sleeps for a fixed time, so it is flaky under load.',
    'tools 3',
    'tool npx vitest run login',
    'edit src/login.ts sleep(50) await ready()',
    'say ## Found it\\n\\n- **The cause**: a fixed `sleep(50)`.\\n- <script>document.title="owned"</script> <img src=x onerror=alert(1)>\\n- [a link](javascript:alert(1)) and ![pixel](https://evil.example/p.gif)',
    'present report.md',
    'permission rm -rf build',
    'say Done.',
  ],
  greeter: [
    'Greet people in another language. Ask me in which one.',
    'say I look at the greeter first.',
    'think Nobody said in which language it greets.',
    'tools 3',
    `ask ${JSON.stringify({ message: 'In which language shall it greet?', requestedSchema: language })}`,
    'permission npm test -- --update',
    'write greetings.txt Bonjour\\nBonsoir\\n',
    'say I wrote the greetings. Look at them while I wait.',
    'wait ../seen',
    'tool cat ../seen',
    'say ## Done\\n\\n- It greets in **French**.',
  ],
  tidy: ['Remove what the last build has left.', 'say Soon.', 'permission rm -rf build'],
  token: ['Find out where the token is read.', 'say Two agents look for it.', 'wait two', 'say Found.'],
} as const

/** Returns words of a person that the scripted agent has a script for: pictures of pages show them. */
export const taskOf = (name: keyof typeof tasks): string => tasks[name][0]

const scripts = new Map<string, string>(Object.values(tasks).map(([words, ...script]) => [words, script.join('\n')]))

/** Returns the script that a message stands for; a message without one is a script. */
export const scriptOf = (message: string): string => scripts.get(message.trim()) ?? message

const language = { properties: { language: { type: 'string', enum: ['French', 'Italian'] } }, required: ['language'] }

const colour = { properties: { colour: { type: 'string', enum: ['Red', 'Blue'] } }, required: ['colour'] }

/** Tasks as people write them, by a name, each with its script for the agent. */
const tasks = {
  login: [
    'Find out why the login test is flaky, and mend it.',
    'say I will look at `login.test.ts` first.',
    'think The test sleeps for a fixed time, so it is flaky under load.',
    'tool grep -n sleep src/login.test.ts => 14:  await sleep(50)',
    'tool git log --oneline -2 => 4c1f0e2 Wait for the page before it is filled in\\n9b7d3a1 Log in with a code',
    'tool npx vitest run login => 1 failed, 4 passed',
    'edit src/login.ts sleep(50) await ready()',
    'say ## Found it\\n\\n- **The cause**: the test waits for a fixed `sleep(50)`, and a busy machine needs longer.\\n- **The change**: it waits for `ready()` now, and passed 50 times in a row.\\n\\nThe last build left files that would hide a failure.',
    'present report.md',
    'allow rm -rf build',
    'say Done: the build is clean, and the test waits for what it needs.',
  ],
  greeter: [
    'Greet people in another language. Ask me in which one.',
    'say I look at the greeter first.',
    'think Nobody said in which language it greets.',
    'tool cat src/greet.ts',
    'tool ls locales',
    'tool npm test',
    `choose ${JSON.stringify({ message: 'In which language shall it greet?', requestedSchema: language })}`,
    'allow npm test -- --update',
    'write greetings.txt Bonjour\\nBonsoir\\n',
    'say I wrote the greetings. Look at them while I wait.',
    'wait ../seen',
    'tool cat ../seen',
    'say ## Done\\n\\n- It greets in **French**.',
  ],
  badge: [
    'Give the README a badge. Ask me for its colour.',
    `choose ${JSON.stringify({ message: 'Which colour shall the badge have?', requestedSchema: colour })}`,
    'say The README has its badge.',
  ],
  plan: [
    'Plan how to make the tests faster.',
    'propose 1. Delete the **slow** tests.\\n2. Run the others side by side, one file to a core.\\n3. Keep the database between two runs.',
  ],
  keep: ['Keep the slow tests, and find out what they wait for.', 'say They wait for a fixed time, each for 50 ms.'],
  replan: [
    'Then plan without that.',
    'propose 1. Wait for `ready()` in place of `sleep(50)`.\\n2. Run the files side by side.',
    'say The tests take 4 s now; they took 19 s.',
  ],
  tidy: ['Remove what the last build has left.', 'say Soon.', 'permission rm -rf build'],
  token: ['Find out where the token is read.', 'say Two agents look for it.', 'wait two', 'say Found.'],
} as const

/** Returns words of a person that the scripted agent has a script for: pictures of pages show them. */
export const taskOf = (name: keyof typeof tasks): string => tasks[name][0]

const scripts = new Map<string, string>(Object.values(tasks).map(([task, ...script]) => [task, script.join('\n')]))

/** Returns the script that a message stands for; a message without one is a script. */
export const scriptOf = (message: string): string => scripts.get(message.trim()) ?? message

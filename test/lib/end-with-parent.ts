/**
 * Loaded before a program that the tests start: the program ends with the process that started it, however that one
 * ends. The channel between them closes when the parent is gone.
 */
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.channel?.unref();

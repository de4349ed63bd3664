// Stands for the runtime of AWS Lambda for Node.js: loads the function once, and calls it for each event. What it returns
// or throws crosses the border as JSON.
const { handler } = require(process.env.FUNCTION);

process.on('message', async (event) => {
  try {
    process.send({ payload: JSON.stringify(await handler(event, {})) });
  } catch (error) {
    const payload = JSON.stringify({ errorType: error?.constructor?.name, errorMessage: error?.message });
    process.send({ functionError: 'Unhandled', payload });
  }
});
process.send('ready');
